/** Numbers as people read them. */
const units: readonly (readonly [ms: number, name: string, short: string])[] = [
  [604_800_000, 'week', 'w'],
  [86_400_000, 'day', 'd'],
  [3_600_000, 'hour', 'h'],
  [60_000, 'minute', 'm'],
  [1000, 'second', 's'],
];

/** `1m`, `90s`, `250ms`: as policies have it. */
export function durationText(ms: number): string {
  const [unitMs, , short] = units.find(([unit]) => ms >= unit && ms % unit === 0) ?? [1, '', 'ms'];
  return `${ms / unitMs}${short}`;
}

/** `a minute`, `10 seconds`; what is not whole, to two digits: `2.5 hours`. */
export function windowWords(ms: number): string {
  const [unitMs, name] =
    units.find(([unit]) => ms >= unit && ms % unit === 0) ??
    units.find(([unit]) => ms >= 2 * unit) ??
    ([1, 'ms'] as const);
  const count = ms / unitMs;
  if (count === 1) return `${name === 'hour' ? 'an' : 'a'} ${name}`;
  return `${countWords(Number(count.toPrecision(2)))} ${name === 'ms' ? name : `${name}s`}`;
}

export function countWords(count: number): string {
  return count.toLocaleString('en-US', { maximumFractionDigits: count < 10 ? 2 : count < 100 ? 1 : 0 });
}

/** `1 client`, `1,200 clients`. */
export function countedWords(count: number, noun: string): string {
  return `${countWords(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** `120 a minute`, `5 in 10 seconds`, `5,000 of bytes a minute`: `unit` is what stands right behind the number. */
export function rateWords(count: number, windowMs: number, unit = ''): string {
  const window = windowWords(windowMs);
  return `${countWords(count)}${unit} ${/^an? /.test(window) ? window : `in ${window}`}`;
}

/** `0.1%`, `12%`, `99.9%`, `<0.01%`. */
export function percentWords(ratio: number): string {
  const percent = ratio * 100;
  if (percent > 0 && percent < 0.01) return '<0.01%';
  if (percent < 100 && percent > 99.99) return '>99.99%';
  // What is almost all is told by what is missing.
  return `${Number(percent.toPrecision(percent > 99 ? 4 : 2))}%`;
}

/** To two units of time: `23h59m`, `3m20s`, `250ms`. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const seconds = Math.round(ms / 1000);
  const parts: [count: number, unit: string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  const told = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return told.map(([count, unit]) => `${count}${unit}`).join('');
}
