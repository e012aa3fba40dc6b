/** Units of time as `envoyproxy/ratelimit` counts them: a month is 30 days, a year 365, and all of them begin with the epoch. */
import { type Unit, units } from './rate-limit-message.ts';

export type KnownUnit = Exclude<Unit, 'UNKNOWN'>;

export const unitSeconds: Readonly<Record<KnownUnit, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
};

/** The unit that a text names, in whatever case. */
export function unitOf(text: string): KnownUnit | undefined {
  const name = text.toUpperCase() as Unit;
  return units.includes(name) && name !== 'UNKNOWN' ? name : undefined;
}

/** Whole seconds until the next window of this unit begins: 1 to the whole unit. */
export function secondsUntilNext(unit: KnownUnit, nowMs: number): number {
  const seconds = unitSeconds[unit];
  return seconds - (Math.floor(nowMs / 1000) % seconds);
}
