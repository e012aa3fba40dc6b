import { invalid } from './errors.ts';

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

type Unit = keyof typeof unitMs;

/** A number of milliseconds, or a number with a unit: `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`. */
export type Duration = number | `${number}${Unit}`;

const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/;

/** Milliseconds of a duration. Throws for anything that is not a finite time above zero. */
export function parseDuration(duration: Duration, field = 'duration'): number {
  const [, count, unit] = typeof duration === 'string' ? (pattern.exec(duration) ?? []) : [];
  const ms = unit === undefined ? duration : Number(count) * unitMs[unit as Unit];
  if (typeof ms === 'number' && ms > 0 && Number.isFinite(ms)) return ms;
  throw invalid(
    field,
    'a time above 0',
    duration,
    'Give milliseconds as a number, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".',
  );
}
