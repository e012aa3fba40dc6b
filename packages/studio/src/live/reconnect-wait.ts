/**
 * How long to leave a service alone that did not answer: longer each time, and never the same for all pages that lost it at one moment.
 *
 *      attempt      1     2     3     4      5      6 ...
 *      at most    1 s   2 s   4 s   8 s   16 s   30 s      at least half of it
 */
const firstMs = 1000;
const mostMs = 30_000;

/** `attempt` counts from 1; `random` is from 0 to 1. */
export function reconnectWaitMs(attempt: number, random: number): number {
  const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(fullMs / 2 + (fullMs / 2) * random);
}
