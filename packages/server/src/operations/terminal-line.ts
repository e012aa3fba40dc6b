/** A line of the log as a person reads it: `12:30:05 WARN  the configuration was not taken  file=sluice.yaml`. */
const levels: Record<number, [name: string, colour: number]> = {
  10: ['TRACE', 90],
  20: ['DEBUG', 90],
  30: ['INFO ', 32],
  40: ['WARN ', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
};

export function terminalLine(json: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const [name, colour] = levels[Number(level)] ?? ['?    ', 0];
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  const shown = Object.entries(fields).map(([field, value]) => `  ${dim(`${field}=`)}${plain(valueText(value))}`);
  const trouble = err ? `\n${troubleText(err as Trouble).replace(/^/gm, '    ')}` : '';
  return `${dim(clock)} \x1b[${colour}m${name}\x1b[0m ${plain(String(msg ?? ''))}${shown.join('')}${trouble}\n`;
}

interface Trouble {
  readonly stack?: string;
  readonly message?: string;
  readonly cause?: Trouble;
}

function troubleText(trouble: Trouble): string {
  const { stack, message, cause } = trouble;
  const text = plain(stack ?? message ?? JSON.stringify(trouble));
  return cause ? `${text}\ncaused by ${troubleText(cause)}` : text;
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function dim(text: string): string {
  return `\x1b[2m${text}\x1b[0m`;
}

/** What came from a client must not move the cursor of whoever reads the log. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
