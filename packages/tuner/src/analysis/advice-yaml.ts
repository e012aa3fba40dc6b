/** The advice as a file that `sluice validate` accepts and `sluice serve` runs. */
import type { Advice } from './advice.ts';
import { countedWords, durationText, percentWords } from './words.ts';

const columns = 96;

export function adviceYaml(advice: Advice): string {
  const { name, key, cost, ipv6Subnet, policy, reasons, refuses } = advice;
  const { refusedCalls, refusedCallRatio, refusedClients, refusedClientRatio } = refuses;
  const outcome =
    `On this log it would have refused ${countedWords(refusedCalls, 'call')} (${percentWords(refusedCallRatio)}) ` +
    `of ${countedWords(refusedClients, 'client')} (${percentWords(refusedClientRatio)}).`;
  return [
    ...commented([...reasons, outcome].join(' ')),
    ...(ipv6Subnet === undefined ? [] : [`ipv6Subnet: ${ipv6Subnet}`]),
    'rules:',
    `  - name: ${scalar(name)}`,
    `    key: ${typeof key === 'string' ? scalar(key) : `[${key.map(scalar).join(', ')}]`}`,
    `    algorithm: ${policy.algorithm}`,
    `    limit: ${policy.limit}`,
    `    window: ${durationText(policy.window)}`,
    ...(policy.burst === policy.limit ? [] : [`    burst: ${policy.burst}`]),
    ...(cost === undefined
      ? []
      : [`    # A limit of ${plain(cost)}, not of calls: each check must bring its cost. Without one it counts as 1.`]),
    '    # Counts and reports, and refuses nobody yet. Watch it for a while, then take this line out.',
    '    shadow: true',
    '',
  ].join('\n');
}

function commented(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (lines[last]!.length + word.length + 1 > columns) lines.push(word);
    else lines[last] = `${lines[last]} ${word}`.trimStart();
  }
  return lines.map((line) => `# ${plain(line)}`);
}

/** Names of fields and clients come from the outside, and a comment must not end where they want. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e\u00a1-\ud7ff]/g, '?');
}

/** Plain where YAML reads it back as the same text, else in quotes: JSON is YAML. */
function scalar(text: string): string {
  const isWord = /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isWord ? text : JSON.stringify(text);
}
