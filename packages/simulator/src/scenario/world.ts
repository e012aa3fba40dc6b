/**
 * The time that a variant runs in. Where nothing waits by promises it goes from event to event without a pause, which is many times
 * as fast as a world in which promises have to come to rest in between.
 *
 *      advance(20)   │ 10 a │ 12 b │ 20 c │ now 20        whatever is due by then has happened; then the next call arrives
 */
import type { Clock } from 'sluice';
import { simulatedClock } from '../clock.ts';
import { eventLoop } from '../events.ts';
import { Heap } from '../heap.ts';
import { sleeplessClock } from '../sleepless-clock.ts';

export interface World {
  readonly nowMs: number;
  readonly clock: Clock;
  at(atMs: number, action: () => void): void;
  /** Lets everything happen up to and including that time. A promise where something has to be waited for. */
  advance(untilMs: number): Promise<void> | undefined;
}

export interface WorldOptions {
  /** Told now and then which time it is, however long nobody calls; what it throws ends the run. */
  readonly tell: (nowMs: number) => void;
  /** What others than memory have not answered yet, if anything: no time passes, and nothing happens, before they have. */
  readonly answered: () => Promise<unknown> | undefined;
}

/** So many calls, or events that nobody waits for, later the real event loop has a turn, and progress is told. */
export const happeningsPerTurn = 16_384;
/** Events with promises take many times as long. */
const eventsPerTelling = 2048;

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

export function promptWorld({ tell, answered }: WorldOptions): World {
  const events = new Heap<Event>((a, b) => (a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs));
  let nowMs = 0;
  let order = 0;
  let happened = 0;
  const advance = (untilMs: number): Promise<void> | undefined => {
    for (let next = events.first(); next !== undefined && next.atMs <= untilMs; next = events.first()) {
      const answering = answered();
      if (answering) return answering.then(() => advance(untilMs));
      events.pop();
      nowMs = next.atMs;
      next.action();
      happened += 1;
      if (happened % happeningsPerTurn > 0) continue;
      tell(nowMs);
      return turn().then(() => advance(untilMs));
    }
    nowMs = untilMs;
    return undefined;
  };
  return {
    get nowMs() {
      return nowMs;
    },
    clock: sleeplessClock(() => nowMs),
    at(atMs, action) {
      events.push({ atMs, order, action });
      order += 1;
    },
    advance,
  };
}

export function patientWorld(seed: number, { tell, answered }: WorldOptions): World {
  let happened = 0;
  // How many there may be was asked when the scenario was read. Turns of the real event loop it takes by itself.
  const loop = eventLoop({ seed, maxEvents: Number.POSITIVE_INFINITY, onEvent, outside: answered });
  function onEvent(atMs: number): void {
    happened += 1;
    if (happened % eventsPerTelling === 0) tell(atMs);
  }
  return {
    get nowMs() {
      return loop.nowMs;
    },
    clock: simulatedClock(loop),
    at: (atMs, action) => void loop.at(atMs, action),
    advance: (untilMs) => loop.run(untilMs),
  };
}

/** A turn of the real event loop; a browser has no `setImmediate`. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
