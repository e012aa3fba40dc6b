/** Figures as people read them. */

export function count(value: number): string {
  if (value > 0 && value < 10) return String(Number(value.toPrecision(2)));
  return Math.round(value).toLocaleString('en');
}

export function share(ratio: number): string {
  return `${Number((100 * ratio).toPrecision(ratio < 0.001 ? 2 : 3))} %`;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} x`;
}

const longer: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

export function milliseconds(ms: number): string {
  const [unitMs, unit] = longer.find(([least]) => ms >= least) ?? [1, 'ms'];
  return `${Number((ms / unitMs).toPrecision(3))} ${unit}`;
}

const larger: readonly (readonly [bytes: number, unit: string])[] = [
  [1e12, 'TB'],
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
];

export function bytes(value: number): string {
  const [unitBytes, unit] = larger.find(([least]) => value >= least) ?? [1, 'bytes'];
  return `${Number((value / unitBytes).toPrecision(3))} ${unit}`;
}
