/** What holds whoever fails, whenever the store is away, and however long nobody calls. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { type SharedCircuit, sharedCircuit } from './shared-circuit.ts';

type StoreMood = 'works' | 'fails' | 'loses answers';

type Event =
  | { readonly kind: 'call'; readonly instance: number; readonly isOk: boolean }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'store'; readonly mood: StoreMood }
  | { readonly kind: 'crash'; readonly instance: number };

const most = 5;

const counts = fc.integer({ min: 2, max: most });
const instance = fc.nat(most - 1);
const wait = fc.record({ kind: fc.constant('wait' as const), ms: fc.oneof(fc.nat(2500), fc.nat(15_000)) });
const mood = fc.record({
  kind: fc.constant('store' as const),
  mood: fc.constantFrom<StoreMood>('works', 'works', 'fails', 'loses answers'),
});
const crash = fc.record({ kind: fc.constant('crash' as const), instance });
const call = fc.record({ kind: fc.constant('call' as const), instance, isOk: fc.boolean() });
const events = fc.array(
  fc.oneof(
    { arbitrary: call, weight: 8 },
    { arbitrary: wait, weight: 4 },
    { arbitrary: mood, weight: 1 },
    { arbitrary: crash, weight: 1 },
  ),
  { maxLength: 120 },
);

/** Instances over a store that can be told to fail. Those without names do not crash: nothing could tell what is left of them. */
function world(count: number, haveNames: boolean) {
  const clock = new TestClock();
  const memory = memoryStore({ clock });
  let storeMood: StoreMood = 'works';
  const store: Store<'async'> = {
    mode: 'async',
    clock,
    async apply(checks: readonly Check[]) {
      if (storeMood === 'fails') throw new Error('unreachable');
      const decisions = memory.apply(checks);
      if (storeMood === 'loses answers') throw new Error('reset by peer');
      return decisions;
    },
  };
  const opened = new Set<number>();
  const start = (i: number): SharedCircuit => {
    const breaker = circuitBreaker({ consecutiveFailures: 1, openFor: '3s', clock });
    const circuit = sharedCircuit(breaker, {
      store,
      name: 'billing',
      ...(haveNames && { instance: `host-${i}` }),
    });
    circuit.on('change', ({ to }) => to === 'open' && opened.add(i));
    return circuit;
  };
  const circuits = Array.from({ length: count }, (_, i) => start(i));

  async function happen(event: Event, isOk: (event: Event & { kind: 'call' }) => boolean): Promise<void> {
    if (event.kind === 'wait') clock.advance(event.ms);
    else if (event.kind === 'store') storeMood = event.mood;
    else if (event.kind === 'crash') {
      if (haveNames) circuits[event.instance % count] = start(event.instance % count);
    } else circuits[event.instance % count]!.tryPass()?.[isOk(event) ? 'ok' : 'failed']();
    await rest();
  }
  return { clock, circuits, opened, happen };
}

function rest(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const timesTried = 300;

describe('however the store behaves, whoever crashes and whenever nobody calls', () => {
  it('an instance that alone has a bad network never opens the circuit of another', async () => {
    await fc.assert(
      fc.asyncProperty(events, counts, fc.boolean(), async (happenings, count, haveNames) => {
        const { opened, happen } = world(count, haveNames);
        for (const event of happenings) await happen(event, ({ instance: who }) => who % count !== 0);
        expect([...opened].filter((who) => who !== 0)).toEqual([]);
      }),
      { numRuns: timesTried },
    );
  });

  it('no instance is counted twice, and none reports that has not failed', async () => {
    await fc.assert(
      fc.asyncProperty(events, counts, fc.boolean(), async (happenings, count, haveNames) => {
        const { circuits, happen } = world(count, haveNames);
        const failed = new Set<number>();
        for (const event of happenings) {
          await happen(event, ({ isOk, instance: who }) => {
            if (!isOk) failed.add(who % count);
            return isOk;
          });
          for (const circuit of circuits) {
            const { members, reports } = circuit.view();
            expect(members).toBeLessThanOrEqual(count);
            expect(reports).toBeLessThanOrEqual(failed.size);
          }
        }
      }),
      { numRuns: timesTried },
    );
  });

  it('once the upstream works again all circuits close, nobody reports, and all are counted', async () => {
    await fc.assert(
      fc.asyncProperty(events, counts, fc.boolean(), async (happenings, count, haveNames) => {
        const { clock, circuits, happen } = world(count, haveNames);
        for (const event of happenings) await happen(event, ({ isOk }) => isOk);
        await happen({ kind: 'store', mood: 'works' }, () => true);
        for (let second = 0; second < 30; second += 1) {
          clock.advance(1000);
          for (let i = 0; i < count; i += 1) await happen({ kind: 'call', instance: i, isOk: true }, () => true);
        }
        for (const circuit of circuits) {
          expect(circuit.state).toBe('closed');
          expect(circuit.view()).toEqual({
            members: count,
            reports: 0,
            isQuorum: false,
            isMember: true,
            isReporting: false,
          });
        }
      }),
      { numRuns: timesTried },
    );
  });
});
