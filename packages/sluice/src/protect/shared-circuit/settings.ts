/** The options of a shared circuit, and what they come down to. */
import { mustFit, type Store } from '../../stores/store.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields } from '../../vocabulary/policy.ts';

export interface SharedCircuitOptions {
  /** What all instances can reach: `redisStore`, or `sharedMemoryStore` for the threads of one process. */
  readonly store: Store;
  /** The upstream. Instances with the same name over the same store see one circuit. */
  readonly name: string;
  /**
   * What this instance is called across restarts, such as its host: started anew, it is not counted beside what is left of the
   * one before. Default: every start is another instance.
   */
  readonly instance?: string;
  /** More than this share of the instances must report: from 0 to below 1. Default 0.5. */
  readonly quorum?: number;
  /** And at least so many of them: 2 or more, for one alone must never open the circuit of the others. Default 2. */
  readonly minReports?: number;
  /** How often the store is asked, at most, and only while calls are made. Default 1 second. */
  readonly every?: Duration;
  /** An instance that has not been heard of for so long is gone, and so is its report; longer than `every`. Default 5 seconds. */
  readonly lease?: Duration;
  /** With more instances than this nobody can tell how many there are, and each goes on alone: `minReports` to 10,000. Default 1,000. */
  readonly maxInstances?: number;
  /** Default: the store's. */
  readonly clock?: Clock;
}

export interface Settings {
  readonly store: Store;
  readonly name: string;
  readonly instance: string | undefined;
  readonly quorum: number;
  readonly minReports: number;
  readonly everyMs: number;
  readonly leaseMs: number;
  readonly maxInstances: number;
  readonly clock: Clock;
}

const fewestReports = 2;
const mostInstances = 10_000;

export function readSettings(options: SharedCircuitOptions): Settings {
  knownFields('sharedCircuit options', options, 'store name instance quorum minReports every lease maxInstances clock');
  const { store, name, instance, quorum = 0.5, minReports = 2, maxInstances = 1000, clock } = options;
  // `mustFit` takes none for an answer.
  if (store === undefined) throw invalid('store', 'a store such as redisStore()', store);
  mustFit(store, clock);
  mustBeText('name', name);
  if (instance !== undefined) mustBeText('instance', instance);
  if (!(typeof quorum === 'number' && quorum >= 0 && quorum < 1))
    throw invalid('quorum', 'a number from 0 to below 1', quorum, 'More than this share of the instances must report.');
  wholeNumber('maxInstances', maxInstances, fewestReports, mostInstances);
  wholeNumber('minReports', minReports, fewestReports, maxInstances);
  const everyMs = parseDuration(options.every ?? '1s', 'every');
  const leaseMs = parseDuration(options.lease ?? '5s', 'lease');
  if (leaseMs <= everyMs)
    throw invalid('lease', `longer than every (${everyMs} ms)`, options.lease, 'It would end before it is renewed.');
  return { store, name, instance, quorum, minReports, everyMs, leaseMs, maxInstances, clock: clock ?? store.clock };
}

function mustBeText(field: string, value: string): void {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'a text that is not empty', value);
}

function wholeNumber(field: string, value: number, least: number, most: number): void {
  if (!(Number.isInteger(value) && value >= least && value <= most))
    throw invalid(field, `a whole number from ${least} to ${most}`, value);
}
