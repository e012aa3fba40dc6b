/**
 * Keeps one service from taking all there is: at most so many calls of it are under way, a few more wait, and the rest is
 * refused at once. The places and the line are those of `gate.ts`; this is the door to them.
 */
import type { Clock } from '../../vocabulary/clock.ts';
import type { Duration } from '../../vocabulary/duration.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import { listenersOf } from '../listeners.ts';
import { clockOf, forEver, nameOf, wholeNumber } from '../option-checks.ts';
import { threw } from '../passes.ts';
import type { Pass, ProtectedCall, Protection, RunOptions } from '../protection.ts';
import { Gate, type GateEvents, type GateRefusal, type GateStats, gateEvents } from './gate.ts';

export interface BulkheadOptions {
  /** How many calls may be under way: 1 or more. */
  readonly limit: number;
  /** How many more may wait for a place, at most 1,000,000. Default 0: nobody waits. */
  readonly queue?: number;
  /** Who has waited for so long is refused. Default: they wait for as long as it takes. */
  readonly queueTimeout?: Duration;
  /** Named in errors. Default: no name. */
  readonly name?: string;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export type BulkheadEvents = GateEvents;
export type BulkheadRefusal = GateRefusal;
export type BulkheadStats = GateStats;

export interface Bulkhead extends Protection {
  /** Makes the call as soon as it has a place. Throws `bulkhead-full` where it gets none, and the signal's reason where it gave up waiting. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** A place without waiting, or `undefined`. Any of the three endings gives it back. */
  tryPass(): Pass | undefined;
  /** A place, after waiting in line for it if it must be. For calls that are not one function. */
  waitForPass(options?: RunOptions): Promise<Pass>;
  /** From now on every newcomer is refused, and whoever waits is. Calls under way go on. */
  close(): void;
  /** Resolves as soon as no call is under way and nobody waits. It closes nothing. */
  drain(): Promise<void>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof BulkheadEvents>(name: Name, listener: (event: BulkheadEvents[Name]) => void): () => void;
  stats(): BulkheadStats;
}

const mostInFlight = 2 ** 32;
export const mostWaiting = 1_000_000;

export function bulkhead(options: BulkheadOptions): Bulkhead {
  knownFields('bulkhead options', options, 'limit queue queueTimeout name clock');
  const name = nameOf(options.name);
  const { on, tell } = listenersOf<BulkheadEvents>(gateEvents);
  const gate = new Gate(
    {
      title: `The bulkhead${name && ` "${name}"`}`,
      limit: wholeNumber('limit', options.limit, 1, mostInFlight),
      queue: wholeNumber('queue', options.queue ?? 0, 0, mostWaiting),
      queueTimeoutMs: forEver('queueTimeout', options.queueTimeout),
      clock: clockOf(options.clock),
    },
    tell,
  );
  return {
    run: (call, runOptions) => gate.run(call, runOptions, (ended) => (threw(ended) ? 'failed' : 'ok')),
    tryPass: () => gate.tryPass(),
    waitForPass: (runOptions) => gate.waitForPass(runOptions),
    close: () => gate.close(),
    drain: () => gate.drain(),
    on,
    stats: () => gate.stats(),
  };
}
