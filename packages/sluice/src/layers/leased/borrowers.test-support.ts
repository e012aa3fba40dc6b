/**
 * Several borrowers over one store, in simulated time: questions and replies take their time, and a borrower may stand still for
 * a while, as a process does under SIGSTOP: it does nothing, and what arrives meanwhile is seen when it goes on.
 */
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type LeasedStore, leasedStore } from './leased-store.ts';
import { type LeasedOptions, type LeasedSettings, settingsOf } from './settings.ts';

/** Lets everything run that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export interface Borrower {
  readonly store: LeasedStore;
  /** Stands still from now on. */
  pause(): void;
  /** Goes on. */
  resume(): void;
}

/** A memory store as somebody at the end of a wire sees it. */
export function remote(memory: Store, clock: TestClock, delayMs: () => number): Store<'async'> & { trips: number } {
  const store = {
    mode: 'async' as const,
    clock,
    trips: 0,
    async apply(checks: readonly Check[], atMs?: number, requestId?: string): Promise<Decision[]> {
      store.trips += 1;
      await clock.sleep(delayMs());
      const decisions = await memory.apply(checks, atMs, requestId);
      await clock.sleep(delayMs());
      return decisions;
    },
  };
  return store;
}

export function borrower(store: Store<'async'>, clock: TestClock, settings: LeasedSettings): Borrower {
  let paused: Promise<void> | undefined;
  let resume = () => {};
  const whenAwake = async <T>(happened: Promise<T>): Promise<T> => {
    const value = await happened;
    while (paused) await paused;
    return value;
  };
  return {
    store: leasedStore(
      { ...store, apply: (checks, atMs, requestId) => whenAwake(store.apply(checks, atMs, requestId)) },
      {
        ...settings,
        clock: { now: () => clock.now(), sleep: (ms, signal) => whenAwake(clock.sleep(ms, signal)) },
        wallNow: () => clock.now(),
      },
    ),
    pause() {
      paused = new Promise((resolve) => {
        resume = resolve;
      });
    },
    resume() {
      paused = undefined;
      resume();
    },
  };
}

export interface Life {
  readonly uses: readonly Grant[];
  readonly demand: readonly Grant[];
  readonly stats: ReturnType<LeasedStore['stats']>[];
  readonly trips: number;
}

export interface LifeOptions {
  readonly policy: Policy;
  readonly seed: number;
  readonly lease?: LeasedOptions;
  /** What to take away from the layer, to see that the auditor notices. */
  readonly without?: Partial<LeasedSettings>;
  readonly borrowers?: number;
  readonly steps?: number;
  readonly keys?: number;
  readonly mostDelayMs?: number;
  /** Whether borrowers stand still now and then. Default true. */
  readonly pauses?: boolean;
  /**
   * Whether the demand is the worst there can be: everybody borrows, holds on to it for as long as it lasts (or longer), and
   * then all spend at once. Default: at random.
   */
  readonly hoards?: boolean;
}

const startMs = 1_700_000_000_000;

/** A random life; what was granted, when it was used. */
export async function live(options: LifeOptions): Promise<Life> {
  const {
    policy,
    seed,
    borrowers: count = 3,
    steps = 250,
    keys = 2,
    mostDelayMs = 8,
    pauses = true,
    hoards = false,
  } = options;
  const random = seededRandom(seed);
  const whole = (max: number) => Math.floor(random() * (max + 1));
  const clock = new TestClock(startMs);
  const wire = remote(memoryStore({ clock }), clock, () => whole(mostDelayMs));
  const settings = { ...settingsOf(options.lease ?? { lease: 40, maxShare: 0.5 }), ...options.without };
  const borrowers = Array.from({ length: count }, () => borrower(wire, clock, settings));
  const pausedUntilMs = borrowers.map(() => 0);
  const uses: Grant[] = [];
  const demand: Grant[] = [];
  const asked: Promise<void>[] = [];

  function call(store: LeasedStore): void {
    const key = `key-${whole(keys - 1)}`;
    const cost = 1 + whole(1) * whole(1);
    const sentMs = clock.now();
    demand.push({ key, atMs: sentMs, cost });
    const check: Check = { name: 'rule', key, policy, cost };
    asked.push(
      store.apply([check]).then(
        ([decision]) => {
          if (decision?.allowed) uses.push({ key, sentMs, receivedMs: clock.now(), cost });
        },
        (error) => {
          // Slower than the lease: refused, and said so.
          if (error.code !== 'store-unavailable') throw error;
        },
      ),
    );
  }

  // When the hoarders borrow, spend, and begin again.
  let borrowMs = startMs;
  let spendMs = startMs;
  let againMs = startMs;
  let staggerMs = 0;
  const hasBorrowed = borrowers.map(() => false);

  /** How many calls a borrower makes at this moment. */
  function callsOf(i: number): number {
    if (!hoards) return Math.floor(random() ** 3 * 6);
    if (!hasBorrowed[i] && clock.now() >= borrowMs + i * staggerMs) {
      hasBorrowed[i] = true;
      return 1;
    }
    return clock.now() >= spendMs && clock.now() < againMs - 60 ? 5 : 0;
  }

  function plot(): void {
    if (!hoards || clock.now() < againMs) return;
    borrowMs = clock.now();
    staggerMs = random() < 0.5 ? 0 : 30;
    hasBorrowed.fill(false);
    spendMs = borrowMs + settings.leaseMs - settings.marginMs - 4 + (random() < 0.5 ? 0 : whole(100));
    if (spendMs > borrowMs + 200) spendMs = borrowMs + 20 + whole(180);
    againMs = spendMs + 70 + whole(60);
  }

  for (let step = 0; step < steps; step += 1) {
    clock.advance(hoards ? 1 + whole(2) : whole(4));
    plot();
    for (const [i, one] of borrowers.entries()) {
      if (clock.now() < pausedUntilMs[i]!) continue;
      if (pausedUntilMs[i]! > 0) {
        // What it held before it stood still is what it reaches for first.
        pausedUntilMs[i] = 0;
        one.resume();
        for (let many = whole(6); many > 0; many -= 1) call(one.store);
      }
      for (let many = callsOf(i); many > 0; many -= 1) call(one.store);
      if (pauses && random() < 0.03) {
        one.pause();
        pausedUntilMs[i] = clock.now() + whole(150);
      }
    }
    await settled();
  }
  for (const one of borrowers) one.resume();
  let isOver = false;
  void Promise.all(asked).then(() => {
    isOver = true;
  });
  while (!isOver) {
    clock.advance(5);
    await settled();
  }
  await Promise.all(asked);
  return { uses, demand, stats: borrowers.map(({ store }) => store.stats()), trips: wire.trips };
}

/** The uses at the moment at which the answer was there. */
export function atReceipt(uses: readonly Grant[]): Grant[] {
  return uses.map(({ key, cost = 1, receivedMs, atMs }) => ({ key, cost, atMs: receivedMs ?? atMs ?? Number.NaN }));
}
