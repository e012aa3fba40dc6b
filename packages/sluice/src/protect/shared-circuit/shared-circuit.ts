/**
 * One circuit for an upstream, seen by many instances. Each has a breaker of its own and believes its own eyes first; what it
 * shares is a report, and only a quorum of reports opens the circuit of those who have seen nothing yet.
 *
 *      A   its own calls fail ──► open ──► reports ──┐
 *      B   its own calls fail ──► open ──► reports ──┼──► 2 of 3 report
 *      C   closed, all is well                       │        │
 *          tripped, before it has failed once ◄──────┴────────┘
 *          half-open after its time, and then it is what C's own probes say that counts
 *
 *      D   has a bad network of its own ──► open ──► reports: 1 of 3, and nobody else opens
 *
 * Nobody reports what it was only told. C is open, but reports nothing unless its own probes fail: else a report would keep itself
 * alive, each instance open because the others are. And C is tripped when the quorum is reached, not while it holds: once its own
 * probes have passed it stays closed until the quorum has fallen and is reached anew.
 *
 * There is no timer. The store is asked in the background while calls are made, never waited for, and when it fails every
 * instance goes on alone.
 */
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import type { CircuitBreaker, CircuitBreakerEvents, CircuitChangeReason } from '../circuit-breaker/circuit-breaker.ts';
import { listenersOf } from '../listeners.ts';
import { leasesOf, type Seen } from './leases.ts';
import { readSettings, type SharedCircuitOptions } from './settings.ts';

export interface SharedCircuitEvents extends CircuitBreakerEvents {
  /** A quorum of the instances reports the upstream, or no longer does. */
  quorum: {
    readonly isReached: boolean;
    readonly reports: number;
    readonly members: number;
    /** It opened the circuit of this instance, which had not failed itself. */
    readonly hasTripped: boolean;
  };
  /** The store failed, or gave no place. Calls are not concerned: this instance goes on by what it knows itself. */
  'sync-failed': { readonly error: unknown };
}

/** What this instance knows of the others, as of its latest look. */
export interface SharedCircuitView {
  /** Instances that make calls, this one included. */
  readonly members: number;
  /** Those of them whose own calls failed. */
  readonly reports: number;
  readonly isQuorum: boolean;
  /** Whether this instance is counted, and whether it reports. */
  readonly isMember: boolean;
  readonly isReporting: boolean;
}

export interface SharedCircuit extends CircuitBreaker {
  /** Opens it as failures would, and reports it as they are: for a service that said itself that it is overloaded. */
  trip(): void;
  /** What is known of the others. */
  view(): SharedCircuitView;
  /** Asks the store now; never rejects. For an instance that makes calls too seldom to be counted. */
  sync(): Promise<void>;
  /** Gives its leases back and goes on alone, for good. Resolves when that is done, or when they have ended by themselves; never rejects. */
  leave(): Promise<void>;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof SharedCircuitEvents>(
    name: Name,
    listener: (event: SharedCircuitEvents[Name]) => void,
  ): () => void;
}

/** What an instance has seen itself. By hand, it has seen nothing. */
const ownFailures: readonly CircuitChangeReason[] = ['consecutive-failures', 'failure-ratio', 'probes-failed'];

// A breaker that is shared twice would be two witnesses; a shared circuit in another would report what it was only told.
const shared = new WeakSet<CircuitBreaker>();

export function sharedCircuit(breaker: CircuitBreaker, options: SharedCircuitOptions): SharedCircuit {
  const settings = readSettings(options);
  mustBeOwn(breaker);
  const { clock, everyMs, leaseMs, quorum, minReports } = settings;
  const { on, tell } = listenersOf<SharedCircuitEvents>(['change', 'refused', 'ended', 'quorum', 'sync-failed']);
  const leases = leasesOf(settings);

  // The circuit is open because its own calls failed. How often it saw that, and how much of it was reported.
  let isWitness = false;
  let sightings = 0;
  let reported = 0;

  let members = 0;
  let reports = 0;
  let isQuorum = false;

  let isDue = false;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let isSilent = false;
  let underWay: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;

  breaker.on('change', (event) => {
    if (event.to === 'closed') testify(false);
    else if (event.to === 'open') testify(ownFailures.includes(event.reason));
    tell('change', event);
  });
  breaker.on('refused', (event) => tell('refused', event));
  breaker.on('ended', (event) => tell('ended', event));

  function testify(hasSeen: boolean): void {
    if (hasSeen) sightings += 1;
    if (hasSeen === isWitness) return;
    isWitness = hasSeen;
    void sync();
  }

  /** Looks at the store, if it is time to; called by calls, and never in their way. */
  function look(): void {
    if (leaving) return;
    const nowMs = clock.now();
    // After a clock that stepped back it is time again after as long, and not after the step as well.
    lookedMs = Math.min(lookedMs, nowMs);
    if (!underWay) {
      if (nowMs - lookedMs >= everyMs) void sync();
    } else if (nowMs - lookedMs >= leaseMs && !isSilent) {
      // Not asked again meanwhile: questions to a store that hangs must not pile up.
      isSilent = true;
      const error = new SluiceError('store-unavailable', `The store has not answered for ${leaseMs} ms.`);
      tell('sync-failed', { error });
    }
  }

  function sync(): Promise<void> {
    if (leaving) return leaving;
    isDue = true;
    underWay ??= exchangeAll();
    return underWay;
  }

  async function exchangeAll(): Promise<void> {
    // Not inside the call, or the change of state, that it is due to.
    await undefined;
    while (isDue && !leaving) {
      isDue = false;
      await exchange();
    }
    underWay = undefined;
  }

  async function exchange(): Promise<void> {
    lookedMs = clock.now();
    isSilent = false;
    const seenSoFar = sightings;
    const wasReporting = leases.isReporting;
    // Held open by hand, nothing is seen any more.
    const testifies = isWitness && !breaker.stats().isForced;
    try {
      const seen = await leases.exchange(testifies);
      if (leases.isReporting) reported = seenSoFar;
      if (seen.refusal) tell('sync-failed', { error: seen.refusal });
      judge(seen);
    } catch (error) {
      tell('sync-failed', { error });
    }
    if (wasReporting && testifies && !leases.isReporting) lapse();
  }

  /**
   * A report that nobody renewed is not taken up again, or the reports of those who seldom call would come and go, and trip the
   * others each time. What was seen since then is another report.
   */
  function lapse(): void {
    if (sightings === reported) isWitness = false;
    else isDue = true;
  }

  function judge(seen: Seen): void {
    ({ members, reports } = seen);
    const isReached = reports >= minReports && reports > quorum * members;
    if (isReached === isQuorum || leaving) return;
    isQuorum = isReached;
    const hasTripped = isReached && breaker.state === 'closed';
    // By hand, so it is no failure of its own.
    if (hasTripped) breaker.trip();
    tell('quorum', { isReached, reports, members, hasTripped });
  }

  async function giveBack(): Promise<void> {
    await underWay;
    try {
      await leases.giveBack();
    } catch (error) {
      tell('sync-failed', { error });
    }
  }

  async function leave(): Promise<void> {
    shared.delete(breaker);
    const stop = new AbortController();
    // With a store that hangs there is nothing to wait for any more once they have ended by themselves.
    await Promise.race([giveBack(), clock.sleep(leaseMs, stop.signal)]);
    stop.abort();
  }

  const methods: Omit<SharedCircuit, 'state'> = {
    tryPass() {
      look();
      return breaker.tryPass();
    },
    run(call, runOptions) {
      look();
      return breaker.run(call, runOptions);
    },
    retryAfterMs: () => breaker.retryAfterMs(),
    open: () => breaker.open(),
    close: () => breaker.close(),
    trip() {
      breaker.trip();
      // Held open by hand, it was not tripped.
      if (!breaker.stats().isForced) testify(true);
    },
    on,
    stats: () => breaker.stats(),
    snapshot: () => breaker.snapshot(),
    restore: (snapshot) => breaker.restore(snapshot),
    view: () => ({ members, reports, isQuorum, isMember: leases.isMember, isReporting: leases.isReporting }),
    sync,
    leave() {
      leaving ??= leave();
      return leaving;
    },
  };
  const circuit = withGetters<SharedCircuit, 'state'>(methods, { state: () => breaker.state });
  shared.add(circuit);
  return circuit;
}

function mustBeOwn(breaker: CircuitBreaker): void {
  if (typeof breaker?.tryPass !== 'function' || typeof breaker.trip !== 'function')
    throw invalid('breaker', 'a circuit breaker such as circuitBreaker()', breaker);
  if (shared.has(breaker))
    throw invalid('breaker', 'one that is not shared already', breaker, 'Make one for each upstream.');
  shared.add(breaker);
}
