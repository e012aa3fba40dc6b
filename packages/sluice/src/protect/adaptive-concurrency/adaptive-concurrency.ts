/**
 * How many calls a service can take at once, found by measuring. Two questions, kept apart:
 *
 *      who    the gate of the bulkhead: places, and a line         calls ──► gate ──► service
 *                                                                             ▲         │ how long, how it ended
 *      how many    `aimd`, `vegas` or `gradient`: a pure step               limit ◄── sample of a window
 *
 * The limit moves by one step per window, see `sample-window.ts`, and within its range. Where it falls below what is under way,
 * nobody is thrown out: nobody new begins until enough have ended.
 */

import { withGetters } from '../../vocabulary/getters.ts';
import { Gate, type GateEvents, type GateStats, gateEvents } from '../bulkhead/gate.ts';
import { type Listeners, listenersOf } from '../listeners.ts';
import type { Pass, ProtectedCall, Protection, RunOptions } from '../protection.ts';
import { SampleWindow } from './sample-window.ts';
import { type AdaptiveConcurrencyOptions, readSettings } from './settings.ts';

export interface AdaptiveConcurrencyEvents extends GateEvents {
  /** The limit moved. */
  change: { readonly from: number; readonly to: number };
}

export interface AdaptiveConcurrencyStats extends GateStats {
  /** What calls took in the last window that was not dropped, on average; undefined before the first. */
  readonly rttMs: number | undefined;
  /** What a call takes when none has to wait, as far as it is known; AIMD does not ask. */
  readonly baselineMs: number | undefined;
}

export interface AdaptiveConcurrency extends Protection {
  /** How many calls may be under way now. */
  readonly limit: number;
  /** Makes the call as soon as it has a place, and learns from how that ends. Throws `bulkhead-full` where it gets none, and the signal's reason where it gave up waiting. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** A place without waiting, or `undefined`. Say `failed` where the service is overloaded (a time-out, a 429, a 503), and `ignored` where it says nothing. */
  tryPass(): Pass | undefined;
  /** A place, after waiting in line for it if it must be. For calls that are not one function. */
  waitForPass(options?: RunOptions): Promise<Pass>;
  /** From now on every newcomer is refused, and whoever waits is. Calls under way go on. */
  close(): void;
  /** Resolves as soon as no call is under way and nobody waits. It closes nothing. */
  drain(): Promise<void>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof AdaptiveConcurrencyEvents>(
    name: Name,
    listener: (event: AdaptiveConcurrencyEvents[Name]) => void,
  ): () => void;
  stats(): AdaptiveConcurrencyStats;
}

export function adaptiveConcurrency(options: AdaptiveConcurrencyOptions): AdaptiveConcurrency {
  const settings = readSettings(options);
  const { algorithm, judge } = settings;
  const { on, tell } = listenersOf<AdaptiveConcurrencyEvents>([...gateEvents, 'change']);
  // Its events are among ours; the compiler does not see that through the generics.
  const tellOfGate = tell as Listeners<GateEvents>['tell'];
  let state = algorithm.initial;
  let limit = algorithm.limitOf(state);
  let rttMs: number | undefined;
  const window = new SampleWindow(settings.window, settings.gate.clock.now());

  const gate = new Gate(
    { ...settings.gate, limit },
    tellOfGate,
    ({ outcome, durationMs, inFlight, endedMs, isMeasured }) => {
      if (outcome === 'ignored' || !isMeasured) return;
      const sample = window.add(outcome === 'failed', durationMs, inFlight, endedMs);
      if (!sample) return;
      if (!sample.isDropped) rttMs = sample.rttMs;
      state = algorithm.step(state, sample);
      const from = limit;
      limit = algorithm.limitOf(state);
      if (limit === from) return;
      gate.setLimit(limit);
      tell('change', { from, to: limit });
    },
  );

  const methods: Omit<AdaptiveConcurrency, 'limit'> = {
    run: (call, runOptions) => gate.run(call, runOptions, judge),
    tryPass: () => gate.tryPass(),
    waitForPass: (runOptions) => gate.waitForPass(runOptions),
    close: () => gate.close(),
    drain: () => gate.drain(),
    on,
    stats: () => ({ ...gate.stats(), rttMs, baselineMs: algorithm.baselineMsOf(state) }),
  };
  return withGetters<AdaptiveConcurrency, 'limit'>(methods, { limit: () => limit });
}
