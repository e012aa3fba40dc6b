/** Measures as people read them: `1.25 s`, `12.3 %`, `1,234`; and their names in words. */
import type { Measure, Unit } from '@sluice/simulator';
import { shortened } from '../terminal/words.ts';

const units: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** Three digits are what an eye compares. */
const digits = 3;

// Made once: making one takes longer than writing a hundred numbers with it.
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const broken = new Intl.NumberFormat('en', { maximumSignificantDigits: digits });

export function figure({ value, unit }: Measure): string {
  if (Number.isNaN(value)) return '-';
  if (!Number.isFinite(value)) return unit === 'ms' ? 'never' : value > 0 ? '∞' : '-∞';
  if (unit === 'ms') return duration(value);
  if (unit === 'ratio') return `${plainNumber(100 * value)} %`;
  return unit === 'rate' ? `${plainNumber(value)}/s` : plainNumber(value);
}

export function duration(ms: number): string {
  const [unitMs, unit] = units.find(([least]) => Math.abs(ms) >= least) ?? [1, 'ms'];
  return `${plainNumber(ms / unitMs)} ${unit}`;
}

/** Whole numbers are exact, however long: a worst window of 1,001 where 1,000 is the limit is the whole point. */
function plainNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 10 ** digits) return whole.format(value === 0 ? 0 : value);
  return broken.format(value);
}

/** `worstWindow` is `worst window`; `waitMsMax` is `wait max`, because its figure has the unit; `refusedRatio` is `refused share`. */
export function measureName(name: string, unit: Unit): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(' ');
  const shown = words.filter((word) => !(unit === 'ms' && word === 'ms'));
  return (shown.length > 0 ? shown : words).map((word) => (word === 'ratio' ? 'share' : word)).join(' ');
}

/** `share.A` is `share A`; where that is too long, who it is about says more than what: `servedShare.preferred` is `preferred`. */
export function seriesName(name: string, longest: number): string {
  const [own = '', ...of] = name.split('.');
  const whole = [measureName(own, 'number'), ...of].join(' ');
  return shortened(whole.length > longest && of.length > 0 ? of.join('.') : whole, longest);
}
