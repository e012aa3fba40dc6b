/**
 * Reads Prometheus' text format (version 0.0.4) as strictly as its description allows: what a scraper might forgive is an error here.
 * Knows nothing of what wrote the text.
 */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const nameForm = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const labelForm = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const sampleLine = new RegExp(`^(${nameForm})(?:\\{(${labelForm}(?:,${labelForm})*)\\})? (\\S+)$`);
const types = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

export function parsePrometheusText(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line must end with a line feed');
  const families = new Map<string, Family>();
  let current: string | undefined;
  const helps = new Map<string, string>();
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const [, keyword, subject = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (helps.has(subject)) throw new Error(`two HELP lines of ${subject}`);
      helps.set(subject, rest);
    } else if (keyword === 'TYPE') {
      if (families.has(subject)) throw new Error(`two TYPE lines of ${subject}`);
      if (!types.includes(rest)) throw new Error(`${subject} has a type that does not exist: ${rest}`);
      families.set(subject, { type: rest, help: helps.get(subject) ?? '', samples: [] });
      current = subject;
    } else if (!line.startsWith('#')) {
      const sample = parseSample(line);
      const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (seen.has(series)) throw new Error(`this series comes twice: ${line}`);
      seen.add(series);
      const family = families.get(current ?? '');
      if (!family || !belongsTo(sample.name, current!, family.type))
        throw new Error(`not under its TYPE line: ${line}`);
      family.samples.push(sample);
    }
  }
  for (const [name, family] of families) check(name, family);
  return families;
}

function parseSample(line: string): Sample {
  const [, name, labels = '', number] = sampleLine.exec(line) ?? [];
  if (name === undefined || number === undefined) throw new Error(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(new RegExp(labelForm, 'g'))].map(([pair]): [string, string] => {
    const [label = '', quoted = ''] = pair.split(/=(.*)/s);
    return [label, quoted.slice(1, -1).replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))];
  });
  if (new Set(pairs.map(([label]) => label)).size !== pairs.length) throw new Error(`a label comes twice: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: parseNumber(number) };
}

function parseNumber(text: string): number {
  const special = { '+inf': Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY, nan: Number.NaN };
  const value = special[text.toLowerCase() as keyof typeof special] ?? Number(text);
  if (Number.isNaN(value) && text.toLowerCase() !== 'nan') throw new Error(`not a number: ${text}`);
  return value;
}

function belongsTo(sample: string, family: string, type: string): boolean {
  if (sample === family) return type !== 'histogram';
  const endings = { histogram: ['_bucket', '_sum', '_count'], summary: ['_sum', '_count'] };
  return (endings[type as keyof typeof endings] ?? []).some((ending) => sample === family + ending);
}

function check(name: string, { type, samples }: Family): void {
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} counts below 0`);
  if (type !== 'histogram') return;
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const group = JSON.stringify(Object.entries(labels).sort());
    groups.set(group, [...(groups.get(group) ?? []), sample]);
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => parseNumber(labels.le ?? ''));
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const isAscending = bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!);
    const isCumulative = buckets.every(({ value }, i) => i === 0 || value >= buckets[i - 1]!.value);
    if (!isAscending || !isCumulative) throw new Error(`the buckets of ${name} do not rise`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count) {
      throw new Error(`the last bucket of ${name} does not hold all`);
    }
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum`);
  }
}
