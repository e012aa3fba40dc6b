/**
 * What holds for every call that comes after it (a reset, a block, a penalty, a reward) holds also for what the store was about to
 * lend, whatever is carried out and answered first. All orders in which a few calls, their questions and their answers can happen.
 */
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import type { Check, Operation } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { lateStore, type Trip } from '../late-store.test-support.ts';
import { settled } from './borrowers.test-support.ts';
import { leasedStore } from './leased-store.ts';
import { settingsOf } from './settings.ts';

const limit = 8;

/** Runs a life again and again, until each of its choices went each way. */
async function everyWay(life: (choose: (ways: number) => number) => Promise<void>): Promise<number> {
  let path: number[] = [];
  for (let lives = 1; ; lives += 1) {
    const ways: number[] = [];
    await life((count) => path[ways.push(count) - 1] ?? 0);
    const taken = ways.map((_, i) => path[i] ?? 0);
    const last = ways.map((count, i) => taken[i]! + 1 < count).lastIndexOf(true);
    if (last < 0) return lives;
    path = [...taken.slice(0, last), taken[last]! + 1];
  }
}

interface Scene {
  readonly policy: Policy;
  /** What is called, in this order, each with or without waiting for anything. */
  readonly calls: readonly Operation[];
  /** Used before all that, by somebody else. */
  readonly used: number;
}

/** How many calls pass that are made after all of that was answered. */
async function passedAfter({ policy, calls, used }: Scene, choose: (ways: number) => number): Promise<number> {
  const clock = new TestClock(1_000_000);
  const wire = lateStore(clock);
  const settings = settingsOf({ lease: 1000, minSlice: 5, maxShare: 1, clock });
  const store = leasedStore(wire, settings);
  const check: Check = { name: 'rule', key: 'key', policy, cost: 1 };
  const toCall = [...calls];
  const decided = new Set<Trip>();
  const arrived = new Set<Trip>();
  let answered = 0;

  if (used > 0) {
    void wire.apply([{ ...check, policy: settings.lendingOf(policy, settings.leaseMs)!.policy, cost: used }]);
    wire.trips.shift()!.arrive();
  }

  function call(operation: Operation): void {
    const cost = operation === 'check' ? 1 : operation === 'reset' ? 0 : limit;
    void store.apply([{ ...check, operation, cost, durationMs: 60_000 }]).then(() => {
      answered += 1;
    });
  }

  function arrive(trip: Trip): void {
    arrived.add(trip);
    trip.arrive();
  }

  function decide(trip: Trip): void {
    decided.add(trip);
    trip.decide();
  }

  /** What can happen next: the next call is made, or the store carries one out, or its answer is there. */
  function possible(): (() => void)[] {
    const trips = wire.trips.filter((trip) => !arrived.has(trip));
    const steps = trips.map((trip) => () => (decided.has(trip) ? arrive(trip) : decide(trip)));
    return toCall.length > 0 ? [() => call(toCall.shift()!), ...steps] : steps;
  }

  for (let steps = possible(); steps.length > 0; steps = possible()) {
    clock.advance(1);
    steps[choose(steps.length)]!();
    await settled();
  }
  expect(answered).toBe(calls.length);

  let passed = 0;
  for (;;) {
    let decision: Decision | undefined;
    void store.apply([check]).then(([first]) => {
      decision = first;
    });
    await settled();
    while (decision === undefined) {
      for (const trip of wire.trips) trip.arrive();
      await settled();
    }
    if (!decision.allowed) return passed;
    passed += 1;
  }
}

const policies: Policy[] = [
  slidingLog({ limit, window: 10_000 }),
  gcra({ limit, window: 1_000_000, burst: limit + 0.5 }),
  fixedWindow({ limit, window: 1_000_000 }),
];

describe.each(policies)('after the answer to an order, with $algorithm,', (policy) => {
  const scenes = (order: Operation): Scene[] => [
    { policy, calls: ['check', order], used: 0 },
    { policy, calls: ['check', order, 'check'], used: 0 },
    { policy, calls: [order, 'check'], used: 0 },
    { policy, calls: ['check', 'check', order], used: 0 },
  ];

  it.each(['reset', 'reward'] as const)('%s: no more than the limit passes', async (order) => {
    for (const scene of scenes(order)) {
      const lives = await everyWay(async (choose) => {
        expect(await passedAfter(scene, choose)).toBeLessThanOrEqual(limit);
      });
      expect(lives).toBeGreaterThan(5);
    }
  });

  it.each(['block', 'penalize'] as const)('%s: nothing passes', async (order) => {
    for (const scene of scenes(order)) {
      await everyWay(async (choose) => expect(await passedAfter(scene, choose)).toBe(0));
    }
  });

  it('reset: a refusal from before is forgotten', async () => {
    await everyWay(async (choose) => {
      const scene: Scene = { policy, calls: ['check', 'reset'], used: limit };
      expect(await passedAfter(scene, choose)).toBeGreaterThan(0);
    });
  });
});

describe('an order', () => {
  it('does not wait for a question that is never answered', async () => {
    const wire = lateStore(new TestClock(1_000_000));
    const store = leasedStore(wire, settingsOf({ lease: 1000, clock: wire.clock }));
    const check: Check = { name: 'rule', key: 'key', policy: policies[0]!, cost: 1 };
    void store.apply([check]);
    const reset = store.apply([{ ...check, operation: 'reset' }]);
    await settled();
    wire.trips[1]!.arrive();
    expect((await reset)[0]!.remaining).toBe(limit);
  });

  it('that failed may have been carried out', async () => {
    const wire = lateStore(new TestClock(1_000_000));
    const store = leasedStore(wire, settingsOf({ lease: 1000, minSlice: 5, maxShare: 1, clock: wire.clock }));
    const check: Check = { name: 'rule', key: 'key', policy: policies[0]!, cost: 1 };
    const first = store.apply([check]);
    const reset = store.apply([{ ...check, operation: 'reset' }]);
    await settled();
    wire.trips[0]!.arrive();
    await first;
    wire.trips[1]!.decide();
    wire.trips[1]!.fail(new Error('lost on the way back'));
    await expect(reset).rejects.toThrow('lost on the way back');
    // What was lent before is not spent any more: the store is asked.
    const trips = wire.trips.length;
    void store.apply([check]);
    expect(wire.trips).toHaveLength(trips + 1);
  });
});
