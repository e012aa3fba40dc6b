/**
 * How long to wait before the next attempt.
 *
 *      nobody said            told so long
 *      0 ┌─────────┐ most     0          told ┌─────────┐ told + spread
 *        └─────────┘          ├───────────────┴─────────┘
 *        anywhere in here      never here      anywhere in here
 *
 * Full jitter: all of the wait is left to chance, because clients that failed at one moment would otherwise come back at one
 * moment, again and again. A service that says how long to wait says the same to everybody it refuses: what is left to chance is
 * then added, so that nobody is early.
 */
export interface Backoff {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly growth: number;
}

// A thousand clients that are told a minute are spread over six seconds; a tenth is little to who has waited that long.
const spreadOfTold = 0.1;

/** The wait after the given attempt, counted from 1; `toldMs` where the service said how long, `chance` from 0 to below 1. */
export function delayMs(backoff: Backoff, attempt: number, toldMs: number | undefined, chance: number): number {
  const mostMs = Math.min(backoff.maxDelayMs, backoff.baseDelayMs * backoff.growth ** (attempt - 1));
  return toldMs === undefined ? chance * mostMs : toldMs + chance * Math.max(mostMs, spreadOfTold * toldMs);
}
