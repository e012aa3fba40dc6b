/**
 * A world in which time passes only from event to event: seeded, single-threaded, and the same on every run.
 *
 *      at(30, c) ─┐
 *      at(10, a) ─┼─► │ 10 a │ 10 b │ 30 c │ ─► run: a at 10, b at 10 (it was put in later), c at 30
 *      at(10, b) ─┘
 *
 * Between two events everything that was set going by the first comes to rest: promises are followed to the point where
 * they wait for simulated time. What waits for something outside, such as a socket, is waited for only where `outside` tells of it.
 */
import { Heap } from './heap.ts';
import { type Random, random } from './random.ts';

export interface EventLoopOptions {
  /** What all randomness of the run comes from. Default 1. */
  readonly seed?: number;
  /** The time at the start. Default 0. */
  readonly startMs?: number;
  /** The most events of one run; a world that wakes itself for ever ends with an error. Default 10,000,000. */
  readonly maxEvents?: number;
  /** Told of each event before it happens; what it throws ends the run. */
  readonly onEvent?: (atMs: number) => void;
  /** What is under way outside of this world, if anything is: no time passes before it has come to an end. */
  readonly outside?: () => Promise<unknown> | undefined;
}

export interface EventLoop {
  readonly nowMs: number;
  /** The seeded source of chance of this world; `fork` it for each part, so that parts do not disturb each other. */
  readonly random: Random;
  /** Does something at a time, not before now; equals happen in the order they were put in. Returns how to call it off. */
  at(atMs: number, action: () => unknown): () => void;
  /**
   * Runs all events up to and including `untilMs`, and leaves the clock there; without it, until nothing is left to happen.
   * Rejects with the first error of an action, asynchronous ones included.
   */
  run(untilMs?: number): Promise<void>;
}

interface Event {
  readonly atMs: number;
  readonly order: number;
  /** Absent once called off: taking it out of the heap's middle would cost more than skipping it. */
  action: (() => unknown) | undefined;
}

export function eventLoop(options: EventLoopOptions = {}): EventLoop {
  const { seed = 1, startMs = 0, maxEvents = 10_000_000, onEvent, outside } = options;
  const events = new Heap<Event>((a, b) => (a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs));
  const source = random(seed);
  let nowMs = startMs;
  let order = 0;
  let failure: { readonly error: unknown } | undefined;
  let isRunning = false;

  function next(): Event | undefined {
    while (events.size > 0 && events.first()?.action === undefined) events.pop();
    return events.first();
  }

  function happen(event: Event): void {
    nowMs = event.atMs;
    const result = event.action?.();
    // Nobody else holds the promise: without this its error would be lost, or end the process.
    if (result instanceof Promise) result.catch(fail);
  }

  function fail(error: unknown): void {
    failure ??= { error };
  }

  async function runAll(untilMs: number): Promise<void> {
    await turn();
    for (let happened = 0; ; happened += 1) {
      await comeToRest();
      for (let waiting = outside?.(); waiting; waiting = outside?.()) {
        await waiting;
        await comeToRest();
      }
      if (happened % eventsPerTurn === eventsPerTurn - 1) await turn();
      if (failure !== undefined) throw failure.error;
      const event = next();
      if (event === undefined || event.atMs > untilMs) break;
      if (happened === maxEvents) throw new RangeError(`The run did not end within ${maxEvents} events.`);
      events.pop();
      onEvent?.(event.atMs);
      happen(event);
    }
    if (untilMs !== Number.POSITIVE_INFINITY) nowMs = Math.max(nowMs, untilMs);
  }

  return {
    get nowMs() {
      return nowMs;
    },
    random: source,
    at(atMs, action) {
      if (!(atMs >= nowMs && atMs < Number.POSITIVE_INFINITY)) {
        throw new RangeError(`atMs must be a finite time from now (${nowMs}) on, got ${atMs}.`);
      }
      const event: Event = { atMs, order, action };
      order += 1;
      events.push(event);
      return () => {
        event.action = undefined;
      };
    },
    async run(untilMs = Number.POSITIVE_INFINITY) {
      if (isRunning) throw new Error('This event loop is running already.');
      isRunning = true;
      try {
        await runAll(untilMs);
      } finally {
        isRunning = false;
      }
    },
  };
}

// So many events later the real event loop has a turn: a long run must not keep the process from everything else.
const eventsPerTurn = 4096;

/**
 * By then all promises that can settle without time passing have settled: asked for from within a promise's continuation, Node's next
 * tick comes when no other continuation is left. It costs a third of a turn of the real event loop.
 */
function comeToRest(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

/** A turn of the real event loop. What comes after it is a promise's continuation. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
