/**
 * Slows down before the server has to say no.
 *
 *      ready(key) ──► line of the key ──► may one go? ──► the call ──► answered(response) ──┐
 *                          ▲                  │ not yet: sleep                             │
 *                          └──────────────────┴──── what its headers say ◄─────────────────┘
 *
 * A server that sends `RateLimit` headers says how many calls are left and for how long they have to do. While there are plenty,
 * nobody waits. Once less than a share of the limit is left, the rest is spread over that time, so that the last of it is used when
 * new quota comes, and not at once. Calls that are under way count as made: the server may not have seen them yet.
 */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { knownFields, oneOf, zeroOrMore } from '../../vocabulary/policy.ts';
import { ForwardTime } from '../forward-time.ts';
import { LatestUsed } from '../latest-used.ts';
import { type InLine, Line } from '../line.ts';
import { listenersOf } from '../listeners.ts';
import { clockOf, randomOf, wholeNumber } from '../option-checks.ts';
import { wasNotMade } from '../passes.ts';
import { answerOf, endOf, mustBeCall, type ProtectedCall, type Protection, type RunOptions } from '../protection.ts';
import { arrivalMs } from '../rate-limit-headers/arrival-time.ts';
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';
import { parseRateLimitHeaders } from '../rate-limit-headers/parse-rate-limit-headers.ts';
import type { ParsedRateLimit } from '../rate-limit-headers/parsed.ts';
import { type NumberForm, numberForms } from '../rate-limit-headers/waits.ts';
import { whenAborted } from '../when-aborted.ts';
import { headIn, statusOf } from './answers.ts';
import { Pace } from './pace.ts';

export interface PacerOptions {
  /** Below this share of a limit what is left is spread over time: 0 to 1. 0: only waits when there is nothing left. Default 0.5. */
  readonly startBelow?: number;
  /** No call waits for longer. Default 30 seconds. */
  readonly maxDelay?: Duration;
  /**
   * What the server last said keeps no call from being made for longer than this: then one finds out. So a header that is wrong, or
   * meant otherwise, costs no more. Default 1 hour.
   */
  readonly maxBlock?: Duration;
  /** What the numbers of `RateLimit-Reset` and `X-RateLimit-Reset` are. Default: told by their size: see `parseRateLimitHeaders`. */
  readonly reset?: NumberForm;
  /** What happens to a call that would have to wait for longer: `'throw'` a `throttled`, or let it `'pass'` at once. Default `'throw'`. */
  readonly whenTooLong?: 'throw' | 'pass';
  /** After a `Retry-After` everybody waits up to this share of it longer, by chance, so that not all come back at once: 0 to 1. Default 0.25. */
  readonly jitter?: number;
  /** How many calls may wait, of all keys together: up to 1,000,000. Default 10,000. */
  readonly maxWaiters?: number;
  /** Of how many keys it remembers what the server said. Default 1,000. */
  readonly maxKeys?: number;
  /** Default: monotonic. */
  readonly clock?: Clock;
  /** From 0 to below 1, for the jitter. Default `Math.random`. */
  readonly random?: () => number;
}

export interface PacerEvents {
  /** A call was held back for so long, and goes now. */
  delayed: { readonly key: string; readonly delayMs: number };
  /** The server asked to be left alone for so long. */
  blocked: { readonly key: string; readonly retryAfterMs: number };
  /** A call was not made: it would have to wait for so long at least, or too many wait already. */
  refused: { readonly key: string; readonly delayMs: number; readonly reason: 'max-delay' | 'max-waiters' };
}

/** A call that may be made now. Say how it ended, once; what is said after that does nothing. */
export interface PacedCall {
  /** How long it was held back. */
  readonly delayedMs: number;
  /** The server answered. The status is read from the response where it has one; `Retry-After` counts with 429, with 503, and where it is not known. */
  answered(response: HeaderSource, status?: number): void;
  /** There is no answer. The server may have counted the call, and so does the pacer. */
  unanswered(): void;
  /** The call was not made after all. */
  notMade(): void;
}

export interface PacerStats {
  readonly keys: number;
  readonly waiting: number;
}

export interface Pacer {
  /** Resolves when a call may be made, first come, first served per key. Rejects with the reason of the signal, with `throttled` where the wait would be too long, with `bulkhead-full` where too many wait. */
  ready(key: string, options?: RunOptions): Promise<PacedCall>;
  /** How long a call would have to wait now, at least, behind those who wait already. Changes nothing. */
  delayMs(key: string): number;
  /** Waits, makes the call, and learns from the headers of what it answers with. */
  run<T>(key: string, call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** `run` of one key, to be composed with others. */
  of(key: string): Protection;
  /** What a response said that was not waited for here. */
  learn(key: string, response: HeaderSource, status?: number): void;
  /** Forgets what the server said of the key. Those who wait for it go. */
  forget(key: string): void;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof PacerEvents>(name: Name, listener: (event: PacerEvents[Name]) => void): () => void;
  stats(): PacerStats;
}

interface Waiter {
  readonly sinceMs: number;
  readonly go: (call: PacedCall) => void;
  readonly refuse: (error: unknown) => void;
  leaveSignal: () => void;
}

/** One key: its pace, and who waits for it. */
interface Lane {
  readonly key: string;
  readonly pace: Pace;
  readonly line: Line<Waiter>;
  isServed: boolean;
  /** Ends the sleep of whoever serves the line. */
  alarm: AbortController | undefined;
}

const mostWaiters = 1_000_000;
const mostKeys = 1_000_000;
const fields = 'startBelow maxDelay maxBlock reset whenTooLong jitter maxWaiters maxKeys clock random';

export function pacer(options: PacerOptions = {}): Pacer {
  knownFields('pacer options', options, fields);
  const startBelow = zeroOrMore('startBelow', options.startBelow ?? 0.5, 1);
  const maxDelayMs = parseDuration(options.maxDelay ?? '30s', 'maxDelay');
  const maxBlockMs = parseDuration(options.maxBlock ?? '1h', 'maxBlock');
  const reset = oneOf('reset', options.reset, numberForms);
  const whenTooLong = oneOf('whenTooLong', options.whenTooLong, ['throw', 'pass']) ?? 'throw';
  const jitter = zeroOrMore('jitter', options.jitter ?? 0.25, 1);
  const maxWaiters = wholeNumber('maxWaiters', options.maxWaiters ?? 10_000, 0, mostWaiters);
  const maxKeys = wholeNumber('maxKeys', options.maxKeys ?? 1000, 1, mostKeys);
  const clock = clockOf(options.clock);
  const random = randomOf(options.random);
  const time = new ForwardTime(clock);
  const { on, tell } = listenersOf<PacerEvents>(['delayed', 'blocked', 'refused']);
  const lanes = new LatestUsed<Lane>(
    maxKeys,
    (key) => ({
      key,
      pace: new Pace(startBelow, maxBlockMs, random),
      line: new Line(),
      isServed: false,
      alarm: undefined,
    }),
    ({ pace, line }) => line.length === 0 && pace.isFresh(time.now()),
  );
  let waiting = 0;

  function laneOf(key: string): Lane {
    if (typeof key !== 'string') throw invalid('key', 'a string', key);
    return lanes.get(key);
  }

  async function ready(key: string, { signal }: RunOptions = {}): Promise<PacedCall> {
    signal?.throwIfAborted();
    const lane = laneOf(key);
    const nowMs = time.now();
    if (lane.line.length === 0 && lane.pace.delayMs(nowMs) <= 0) return send(lane, 0, nowMs);
    const delayMs = lane.pace.delayMs(nowMs, lane.line.length);
    if (delayMs > maxDelayMs) {
      if (whenTooLong === 'throw') throw tooLong(key, delayMs);
      return send(lane, 0, nowMs);
    }
    if (waiting >= maxWaiters) {
      tell('refused', { key, delayMs, reason: 'max-waiters' });
      throw new SluiceError('bulkhead-full', `As many calls as may be wait to be made already: ${waiting}.`);
    }
    return new Promise((go, refuse) => {
      const waiter: Waiter = { sinceMs: nowMs, go, refuse, leaveSignal: () => undefined };
      const place = lane.line.add(waiter);
      waiting += 1;
      if (signal) {
        waiter.leaveSignal = whenAborted(signal, () => {
          leave(lane, place);
          refuse(signal.reason);
          // Whoever is first now may have less time.
          lane.alarm?.abort();
        });
      }
      if (!lane.isServed) void serve(lane);
    });
  }

  function leave(lane: Lane, place: InLine<Waiter>): void {
    lane.line.remove(place);
    place.value.leaveSignal();
    waiting -= 1;
  }

  /** Lets whoever is first go as soon as it may, until nobody waits. */
  async function serve(lane: Lane): Promise<void> {
    lane.isServed = true;
    try {
      for (let first = lane.line.first; first; first = lane.line.first) {
        const nowMs = time.now();
        const delayMs = lane.pace.delayMs(nowMs);
        const { sinceMs, go, refuse } = first.value;
        // All wait equally long at most, so who is first runs out of time first.
        const leftMs = sinceMs + maxDelayMs - nowMs;
        if (delayMs > 0 && delayMs <= leftMs) {
          await sleep(lane, delayMs);
          continue;
        }
        leave(lane, first);
        if (delayMs > 0 && whenTooLong === 'throw') refuse(tooLong(lane.key, delayMs));
        else go(send(lane, nowMs - sinceMs, nowMs));
      }
    } catch (error) {
      // The clock does not tell the time, or does not sleep. Nobody can wait by it, and all who do are told.
      for (let first = lane.line.first; first; first = lane.line.first) {
        leave(lane, first);
        first.value.refuse(error);
      }
    } finally {
      lane.isServed = false;
    }
  }

  /** Until so much time has passed, or there is news, or whoever was first has left. */
  async function sleep(lane: Lane, ms: number): Promise<void> {
    const alarm = new AbortController();
    lane.alarm = alarm;
    const ended = await endOf(() => clock.sleep(ms, alarm.signal));
    lane.alarm = undefined;
    if (!alarm.signal.aborted) answerOf(ended);
  }

  function tooLong(key: string, delayMs: number): SluiceError {
    tell('refused', { key, delayMs, reason: 'max-delay' });
    return new SluiceError(
      'throttled',
      `The call was not made: the server's limits allow one in ${Math.ceil(delayMs)} ms, and no call waits for more than ${maxDelayMs} ms.`,
    );
  }

  function send(lane: Lane, delayedMs: number, nowMs: number): PacedCall {
    const { pace } = lane;
    const call = pace.send(nowMs);
    let isEnded = false;
    if (delayedMs > 0) tell('delayed', { key: lane.key, delayMs: delayedMs });

    function end(say: () => void): void {
      if (isEnded) return;
      isEnded = true;
      try {
        say();
      } finally {
        lane.alarm?.abort();
      }
    }

    return {
      delayedMs,
      answered: (response, status) =>
        end(() => {
          pace.answered(call);
          read(lane, response, status, call.value.sequence);
        }),
      unanswered: () => end(() => pace.unanswered(call)),
      notMade: () => end(() => pace.notMade(call)),
    };
  }

  function read(lane: Lane, response: HeaderSource, given: number | undefined, sequence?: number): void {
    const nowMs = time.now();
    const { parsed, status } = said(response, given);
    lane.pace.learn(parsed, nowMs, sequence);
    const { retryAfterMs = 0 } = parsed;
    if (retryAfterMs === 0 || !(status === undefined || status === 429 || status === 503)) return;
    lane.pace.block(retryAfterMs, jitter * random(), nowMs);
    tell('blocked', { key: lane.key, retryAfterMs });
  }

  function said(response: HeaderSource, given: number | undefined): { parsed: ParsedRateLimit; status?: number } {
    try {
      const parsed = parseRateLimitHeaders(response, { nowMs: arrivalMs(clock), ...(reset && { reset }) });
      const status = given ?? statusOf(response);
      return { parsed, ...(status !== undefined && { status }) };
    } catch {
      // What throws when it is looked at says nothing. The call was answered all the same, and must not fail by it.
      return { parsed: { policies: [], waitMs: 0 } };
    }
  }

  async function run<T>(key: string, call: ProtectedCall<T>, runOptions: RunOptions = {}): Promise<T> {
    mustBeCall(call);
    const paced = await ready(key, runOptions);
    if (runOptions.signal?.aborted) {
      // In the very turn in which the wait was over.
      paced.notMade();
      throw runOptions.signal.reason;
    }
    const ended = await endOf(call, runOptions.signal);
    if (wasNotMade(ended)) paced.notMade();
    else if ('error' in ended) paced.unanswered();
    else paced.answered(headIn(ended.value));
    return answerOf(ended);
  }

  return {
    ready,
    delayMs(key) {
      const lane = lanes.peek(key);
      return lane ? Math.max(0, lane.pace.delayMs(time.now(), lane.line.length)) : 0;
    },
    run,
    of: (key) => ({ run: (call, runOptions) => run(key, call, runOptions) }),
    learn(key, response, status) {
      const lane = laneOf(key);
      read(lane, response, status);
      lane.alarm?.abort();
    },
    forget(key) {
      const lane = lanes.peek(key);
      lane?.pace.forget();
      lane?.alarm?.abort();
    },
    on,
    stats: () => ({ keys: lanes.size, waiting }),
  };
}
