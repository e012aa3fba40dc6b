/**
 * What was counted of a route: plain numbers, so that counting costs a few nanoseconds; they become metrics when somebody scrapes
 * (`gateway-metrics.ts`).
 */
import { type Refusal, refusals } from '../passage.ts';

/** How requests ended: by the first digit of their status, or because the client left. */
export const endings = ['1xx', '2xx', '3xx', '4xx', '5xx', 'gone'] as const;
const gone = endings.indexOf('gone');

/** From an answer out of memory to one that somebody nearly gave up on; milliseconds. */
export const durationBoundsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000] as const;

export class RouteMeter {
  inFlight = 0;
  delayed = 0;
  /** One for each of `endings`. */
  readonly counts: number[] = endings.map(() => 0);
  readonly refused = Object.fromEntries(refusals.map((reason) => [reason, 0])) as Record<Refusal, number>;
  /** One for each bound, and one for what took longer. */
  readonly durations: number[] = [...durationBoundsMs.map(() => 0), 0];
  durationMsSum = 0;

  ended(how: number | 'gone', durationMs: number): void {
    this.inFlight -= 1;
    this.counts[how === 'gone' ? gone : Math.min(4, Math.max(0, Math.floor(how / 100) - 1))]! += 1;
    let place = 0;
    while (place < durationBoundsMs.length && durationMs > durationBoundsMs[place]!) place += 1;
    this.durations[place]! += 1;
    this.durationMsSum += durationMs;
  }
}
