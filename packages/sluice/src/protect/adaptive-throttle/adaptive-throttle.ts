/**
 * Stops a client from calling a service that rejects most of its calls: it rejects some of them itself, by chance, and the
 * more of them the fewer are accepted (Google's Site Reliability Engineering, chapter 21, "Handling Overload").
 *
 *                                        requests - k * accepts
 *      the share rejected here = max(0, ────────────────────────)      over the last two minutes
 *                                             requests + 1
 *
 * While the service accepts more than 1 of k calls, nothing is rejected here. Else, as calls rejected here count as requests
 * too, of X calls X - k * accepts are rejected: k times as many as are accepted reach the service, whatever X is.
 *
 * How a call is counted. It is one request, in one place at a time:
 *
 *      attempted ──► undecided ──► not accepted (yet) ──► ended: not accepted, accepted, or ignored (never was)
 *                        │  answerWithin    │
 *                        └──────────────────┴──► counted anew, as of the moment it ends
 *
 * - Undecided, it counts for nothing: else a hundred calls made at once would hold each other against a service that has had
 *   no time to accept the first. But not for as long as the call takes: a service that hangs would be called until the calls
 *   time out. After `answerWithin` it counts as not accepted until it says otherwise.
 * - That it was accepted is counted together with its request, as of when it ended. So there are never more accepts than
 *   requests, however the calls lie across the edge of the window, and a call that took longer than the window counts too.
 */
import { SluiceError } from '../../vocabulary/errors.ts';
import { ForwardTime } from '../forward-time.ts';
import { Line } from '../line.ts';
import { listenersOf } from '../listeners.ts';
import { OncePass, runWithPass } from '../passes.ts';
import {
  mustBeCall,
  type Outcome,
  type Pass,
  type ProtectedCall,
  type Protection,
  type RunOptions,
} from '../protection.ts';
import { Counts, type Slot } from './counts.ts';
import { type AdaptiveThrottleOptions, readSettings } from './settings.ts';

export interface AdaptiveThrottleEvents {
  /** A call was not made; such was the chance of it. */
  refused: { readonly rejectRatio: number };
  /** A call ended. */
  ended: { readonly outcome: Outcome; readonly durationMs: number };
}

export interface AdaptiveThrottleStats {
  /** Calls attempted in the window, those rejected here among them. */
  readonly requests: number;
  /** How many of them the service accepted. */
  readonly accepts: number;
  /** How many of them are under way and too young to count. */
  readonly undecided: number;
  /** The chance that the next call is rejected here, from 0 to `rejectRatioMax`. */
  readonly rejectRatio: number;
  /** Calls rejected here since it was made. */
  readonly refused: number;
}

export interface AdaptiveThrottle extends Protection {
  /** Leave to make a call, or `undefined` when it must not be made. Say `ok` where the service accepted it, `failed` where it did not. */
  tryPass(): Pass | undefined;
  /** Calls the function if it may, and learns from how that ends. Throws `throttled` when it must not be called. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof AdaptiveThrottleEvents>(
    name: Name,
    listener: (event: AdaptiveThrottleEvents[Name]) => void,
  ): () => void;
  stats(): AdaptiveThrottleStats;
}

interface Attempt {
  /** Until when it is undecided. */
  readonly dueMs: number;
  /** Where it counts as not accepted; undefined while it is undecided. */
  slot: Slot | undefined;
}

export function adaptiveThrottle(options: AdaptiveThrottleOptions = {}): AdaptiveThrottle {
  const settings = readSettings(options);
  const { k, answerWithinMs, minRequests, rejectRatioMax, random } = settings;
  const { on, tell } = listenersOf<AdaptiveThrottleEvents>(['refused', 'ended']);
  const time = new ForwardTime(settings.clock);
  const counts = new Counts(settings.windowMs, time.now());
  const undecided = new Line<Attempt>();
  let refused = 0;

  /** Does what time alone has brought about since somebody last looked. */
  function catchUp(nowMs: number): void {
    counts.expire(nowMs);
    for (let first = undecided.first; first && nowMs >= first.value.dueMs; first = undecided.first) {
      undecided.remove(first);
      first.value.slot = counts.add(false, first.value.dueMs);
    }
  }

  function rejectRatio(): number {
    const { requests, accepts } = counts;
    if (requests < minRequests) return 0;
    return Math.min(rejectRatioMax, Math.max(0, (requests - k * accepts) / (requests + 1)));
  }

  function tryPass(): Pass | undefined {
    const nowMs = time.now();
    catchUp(nowMs);
    const ratio = rejectRatio();
    if (ratio > 0 && random() < ratio) {
      counts.add(false, nowMs);
      refused += 1;
      tell('refused', { rejectRatio: ratio });
      return undefined;
    }
    const attempt: Attempt = { dueMs: nowMs + answerWithinMs, slot: undefined };
    const place = undecided.add(attempt);
    return new OncePass((outcome) => {
      const endedMs = time.now();
      catchUp(endedMs);
      if (attempt.slot === undefined) undecided.remove(place);
      else counts.takeBack(attempt.slot);
      if (outcome !== 'ignored') counts.add(outcome === 'ok', endedMs);
      tell('ended', { outcome, durationMs: endedMs - nowMs });
    });
  }

  function refusal(): SluiceError {
    const { requests, accepts } = counts;
    const name = settings.name && ` "${settings.name}"`;
    return new SluiceError(
      'throttled',
      `The adaptive throttle${name} did not make the call: of ${requests} calls the service accepted ${accepts}.`,
    );
  }

  return {
    tryPass,
    async run(call, { signal } = {}) {
      mustBeCall(call);
      signal?.throwIfAborted();
      const pass = tryPass();
      if (!pass) throw refusal();
      return runWithPass(pass, call, signal, settings.judge);
    },
    on,
    stats() {
      catchUp(time.now());
      return {
        requests: counts.requests + undecided.length,
        accepts: counts.accepts,
        undecided: undecided.length,
        rejectRatio: rejectRatio(),
        refused,
      };
    },
  };
}
