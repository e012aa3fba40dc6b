/**
 * Stops calling what keeps failing, and finds out carefully when it works again.
 *
 *                    too many failures
 *          closed ───────────────────────► open ◄────────┐
 *             ▲                              │ openFor   │ the probes fail,
 *             │        the probes pass       ▼           │ or do not end in time
 *             └────────────────────────── half-open ─────┘
 *
 * Every change of state begins a new generation. A call belongs to the generation it began in, and what it says later counts
 * for no other: the late failure of a call from before the trip does not open the circuit that has recovered since, and its
 * late success does not close one that is open.
 *
 * There is no timer. That the time open is over, or that a probe hangs, is noticed (and told) by whoever looks next.
 */
import { checkTime } from '../../vocabulary/clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import { ForwardTime } from '../forward-time.ts';
import { listenersOf } from '../listeners.ts';
import { runWithPass } from '../passes.ts';
import {
  mustBeCall,
  type Outcome,
  type Pass,
  type ProtectedCall,
  type Protection,
  type RunOptions,
} from '../protection.ts';
import { type CircuitBreakerOptions, readSettings } from './settings.ts';
import { type CircuitBreakerSnapshot, readSnapshot } from './snapshot.ts';
import { Votes } from './votes.ts';

export type CircuitState = 'closed' | 'open' | 'half-open';

/** Why the state changed. */
export type CircuitChangeReason =
  | 'consecutive-failures'
  | 'failure-ratio'
  | 'time-over'
  | 'probes-failed'
  | 'probes-passed'
  | 'by-hand'
  | 'restored';

export interface CircuitBreakerEvents {
  /** The state changed. `retryAfterMs` is how long it will be open, if it is. */
  change: {
    readonly from: CircuitState;
    readonly to: CircuitState;
    readonly reason: CircuitChangeReason;
    readonly retryAfterMs: number;
  };
  /** A call was not let through. */
  refused: { readonly state: CircuitState };
  /** A call ended. A slow one is `'failed'`; a late one, of a state that is over, does not count. */
  ended: { readonly outcome: Outcome; readonly durationMs: number; readonly isSlow: boolean; readonly isLate: boolean };
}

export interface CircuitBreakerStats {
  readonly state: CircuitState;
  /** Held open by hand. */
  readonly isForced: boolean;
  /** Calls in the window, and how many of them failed; 0 without a `failureRatio`. */
  readonly calls: number;
  readonly failures: number;
  readonly consecutiveFailures: number;
  /** Calls not let through since the breaker was made. */
  readonly refused: number;
}

export interface CircuitBreaker extends Protection {
  readonly state: CircuitState;
  /** Leave to make a call, or `undefined` when it must not be made. A probe that is ignored gives its place back. */
  tryPass(): Pass | undefined;
  /** Calls the function if it may, and learns from how that ends. Throws `circuit-open` when it must not be called. */
  run<T>(call: ProtectedCall<T>, options?: RunOptions): Promise<T>;
  /** Milliseconds until a call may be let through: 0 now, `Infinity` while it is held open by hand. Half-open with every probe out: at most so long. */
  retryAfterMs(): number;
  /** Opens it by hand; it stays open until `close()`. */
  open(): void;
  /** Closes it by hand, and forgets what was counted. */
  close(): void;
  /** Opens it as failures would: for a service that said itself that it is overloaded. */
  trip(): void;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof CircuitBreakerEvents>(
    name: Name,
    listener: (event: CircuitBreakerEvents[Name]) => void,
  ): () => void;
  stats(): CircuitBreakerStats;
  /** What it has counted and where it stands, as plain data that survives JSON. */
  snapshot(): CircuitBreakerSnapshot;
  /** Goes on from a snapshot. Calls under way no longer count. */
  restore(snapshot: CircuitBreakerSnapshot): void;
}

class Call implements Pass {
  readonly generation: number;
  readonly startedMs: number;
  /** Its caller has said how it ended. */
  isEnded = false;
  /** A probe whose time was up: it has counted as failed already. */
  isOverdue = false;
  private readonly end: (call: Call, outcome: Outcome) => void;

  constructor(end: (call: Call, outcome: Outcome) => void, generation: number, startedMs: number) {
    this.end = end;
    this.generation = generation;
    this.startedMs = startedMs;
  }

  ok(): void {
    this.end(this, 'ok');
  }

  failed(): void {
    this.end(this, 'failed');
  }

  ignored(): void {
    this.end(this, 'ignored');
  }
}

const never = Number.POSITIVE_INFINITY;

export function circuitBreaker(options: CircuitBreakerOptions = {}): CircuitBreaker {
  const settings = readSettings(options);
  const { clock, failureRatio, probes } = settings;
  const time = new ForwardTime(clock);
  const now = () => time.now();
  const { on, tell } = listenersOf<CircuitBreakerEvents>(['change', 'refused', 'ended']);
  let state: CircuitState = 'closed';
  let generation = 0;
  let refused = 0;

  // Closed: what was counted.
  let consecutive = 0;
  const votes = failureRatio === undefined ? undefined : new Votes(settings.windowMs, settings.windowCalls);

  // Open: until when, and how often it was opened again since it was last closed.
  let isForced = false;
  let untilMs = 0;
  let reopenings = 0;

  // Half-open: the probes that have not ended, and how the others did.
  let out: Call[] = [];
  let probesOk = 0;
  let probesFailed = 0;

  function become(next: CircuitState, reason: CircuitChangeReason, nowMs: number): void {
    const from = state;
    state = next;
    generation += 1;
    out = [];
    probesOk = 0;
    probesFailed = 0;
    if (next === 'closed') {
      consecutive = 0;
      reopenings = 0;
      votes?.clear();
    }
    if (from !== next) tell('change', { from, to: next, reason, retryAfterMs: waitMs(nowMs) });
  }

  function openUp(reason: CircuitChangeReason, nowMs: number): void {
    if (state === 'half-open') reopenings += 1;
    const longestMs = Math.min(settings.openForMsMax, settings.openForMs * settings.openGrowth ** reopenings);
    untilMs = nowMs + longestMs * (1 - settings.jitter * settings.random());
    become('open', reason, nowMs);
  }

  /** Does what time alone has brought about since somebody last looked. */
  function catchUp(nowMs: number): void {
    if (state === 'open' && !isForced) {
      if (nowMs >= untilMs) become('half-open', 'time-over', nowMs);
    } else if (state === 'half-open') {
      const probing = generation;
      for (const probe of out) {
        if (nowMs - probe.startedMs < settings.probeTimeoutMs) continue;
        probe.isOverdue = true;
        endProbe(probe, 'failed', nowMs);
        // That one may have decided; the others then have nothing to say any more.
        if (generation !== probing) return;
      }
    }
  }

  function waitMs(nowMs: number): number {
    if (isForced) return never;
    if (state === 'open') return Math.max(0, untilMs - nowMs);
    if (state === 'closed' || hasPlace()) return 0;
    // Every probe is out. The first to end decides or leaves its place; at the latest its time is up.
    return Math.max(0, Math.min(...out.map(({ startedMs }) => startedMs + settings.probeTimeoutMs)) - nowMs);
  }

  function hasPlace(): boolean {
    return out.length + probesOk + probesFailed < probes;
  }

  function tryPass(): Pass | undefined {
    const nowMs = now();
    catchUp(nowMs);
    if (state === 'open' || (state === 'half-open' && !hasPlace())) {
      refused += 1;
      tell('refused', { state });
      return undefined;
    }
    const call = new Call(end, generation, nowMs);
    if (state === 'half-open') out.push(call);
    return call;
  }

  function end(call: Call, said: Outcome): void {
    if (call.isEnded) return;
    call.isEnded = true;
    const nowMs = now();
    const durationMs = Math.max(0, nowMs - call.startedMs);
    const isSlow = durationMs > settings.slowAfterMs;
    const outcome = said === 'ok' && isSlow ? 'failed' : said;
    // First, so that an overdue probe is overdue whether or not somebody happened to look before it ended.
    catchUp(nowMs);
    tell('ended', { outcome, durationMs, isSlow, isLate: isLate(call) });
    // Asked again: whoever was told may have changed the state.
    if (isLate(call)) return;
    if (state === 'half-open') endProbe(call, outcome, nowMs);
    else if (outcome !== 'ignored') count(outcome === 'failed', nowMs);
  }

  /** What it says no longer matters. */
  function isLate(call: Call): boolean {
    return call.isOverdue || call.generation !== generation;
  }

  function count(isFailure: boolean, nowMs: number): void {
    consecutive = isFailure ? consecutive + 1 : 0;
    votes?.add(isFailure, nowMs);
    if (consecutive >= settings.consecutiveFailures) openUp('consecutive-failures', nowMs);
    else if (votes && votes.calls >= settings.minCalls && votes.failures / votes.calls >= failureRatio!)
      openUp('failure-ratio', nowMs);
  }

  function endProbe(probe: Call, outcome: Outcome, nowMs: number): void {
    out = out.filter((other) => other !== probe);
    if (outcome === 'ok') probesOk += 1;
    if (outcome === 'failed') probesFailed += 1;
    // By the ratio all of the probes decide together; without one, the first that fails decides.
    const hasFailed =
      failureRatio === undefined
        ? probesFailed > 0
        : probesOk + probesFailed === probes && probesFailed / probes >= failureRatio;
    if (hasFailed) openUp('probes-failed', nowMs);
    else if (probesOk + probesFailed === probes) become('closed', 'probes-passed', nowMs);
  }

  /** How far the time here is ahead of a clock that stepped back. Snapshots have the clock's: whoever reads them knows no other. */
  function aheadOfClockMs(nowMs: number): number {
    return time.steps === 0 ? 0 : nowMs - checkTime(clock.now());
  }

  function refusal(): SluiceError {
    const name = settings.name && ` "${settings.name}"`;
    const left = waitMs(now());
    const until =
      left === never
        ? 'until close() is called'
        : `for another ${Math.ceil(left)} ms${state === 'open' ? '' : ' at most'}`;
    return new SluiceError('circuit-open', `The circuit breaker${name} is ${state} and lets no call through ${until}.`);
  }

  async function run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<T> {
    mustBeCall(call);
    signal?.throwIfAborted();
    const pass = tryPass();
    if (!pass) throw refusal();
    return runWithPass(pass, call, signal, settings.judge);
  }

  const methods: Omit<CircuitBreaker, 'state'> = {
    tryPass,
    run,
    retryAfterMs() {
      const nowMs = now();
      catchUp(nowMs);
      return waitMs(nowMs);
    },
    open() {
      isForced = true;
      become('open', 'by-hand', now());
    },
    close() {
      isForced = false;
      become('closed', 'by-hand', now());
    },
    trip() {
      const nowMs = now();
      catchUp(nowMs);
      if (!isForced) openUp('by-hand', nowMs);
    },
    on,
    stats() {
      const nowMs = now();
      catchUp(nowMs);
      votes?.expire(nowMs);
      const { calls = 0, failures = 0 } = votes ?? {};
      return { state, isForced, calls, failures, consecutiveFailures: consecutive, refused };
    },
    snapshot() {
      const nowMs = now();
      catchUp(nowMs);
      votes?.expire(nowMs);
      const aheadMs = aheadOfClockMs(nowMs);
      return {
        version: 1,
        // Probes under way cannot end elsewhere: whoever goes on from here begins with new ones.
        state: state === 'closed' ? 'closed' : 'open',
        isForced,
        untilMs: (state === 'open' ? untilMs : nowMs) - aheadMs,
        reopenings,
        consecutiveFailures: consecutive,
        votes: votes?.toNumbers(aheadMs) ?? [],
      };
    },
    restore(snapshot) {
      const read = readSnapshot(snapshot);
      const nowMs = now();
      const aheadMs = aheadOfClockMs(nowMs);
      isForced = read.isForced;
      // By another clock the time may be far off; nothing is open for longer than it may be.
      untilMs = Math.min(read.untilMs + aheadMs, nowMs + settings.openForMsMax);
      become(read.state, 'restored', nowMs);
      reopenings = read.reopenings;
      consecutive = read.consecutiveFailures;
      votes?.restore(read.votes, aheadMs, nowMs);
      votes?.expire(nowMs);
    },
  };
  return withGetters<CircuitBreaker, 'state'>(methods, {
    state: () => {
      catchUp(now());
      return state;
    },
  });
}
