import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { degrade } from '../../layers/degrade/degrade.ts';
import { layered } from '../../layers/layered.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { sharedMemoryStore } from '../../stores/shared-memory/shared-memory-store.ts';
import type { Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type CircuitBreaker, circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import type { CircuitBreakerOptions } from '../circuit-breaker/settings.ts';
import type { SharedCircuitOptions } from './settings.ts';
import { type SharedCircuit, sharedCircuit } from './shared-circuit.ts';

type Options = Partial<SharedCircuitOptions> & { readonly breaker?: CircuitBreakerOptions };

/** So many instances over one store: two failures in a row open them, for ten seconds. */
function instances(count: number, { breaker, ...options }: Options = {}) {
  const clock = new TestClock();
  const store = options.store ?? memoryStore({ clock });
  const join = (own: Partial<SharedCircuitOptions> = {}) =>
    sharedCircuit(circuitBreaker({ consecutiveFailures: 2, openFor: '10s', clock, ...breaker }), {
      name: 'billing',
      clock,
      ...options,
      store,
      ...own,
    });
  const all = Array.from({ length: count }, () => join());
  return { clock, store, join, all };
}

/** Until everything that was set going has come to rest. */
function rest(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function call(circuit: CircuitBreaker, outcome: 'ok' | 'failed'): void {
  circuit.tryPass()?.[outcome]();
}

async function fail(circuit: SharedCircuit): Promise<void> {
  call(circuit, 'failed');
  call(circuit, 'failed');
  await rest();
}

/** Every instance makes a call that goes well, if it may make one. */
async function allCall(circuits: readonly SharedCircuit[]): Promise<void> {
  for (const circuit of circuits) call(circuit, 'ok');
  await rest();
}

const states = (circuits: readonly SharedCircuit[]) => circuits.map(({ state }) => state).join(' ');

/**
 * What each instance does at a time, one letter each: `+` a call that succeeds if it may be made, `-` two that fail, `.` nothing.
 * And how each is then: closed, open or half-open; in capitals when it reports.
 */
type Row = readonly [atMs: number, calls: string, after: string];

interface Case {
  readonly name: string;
  readonly options?: Options;
  readonly rows: readonly Row[];
}

// biome-ignore format: aligned rows
const cases: readonly Case[] = [
  {
    name: 'one of three with a bad network of its own opens its own circuit and no other, however long it lasts',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '-++', 'Occ' ],
      [   2000, '+++', 'Occ' ],
      [   6000, '+++', 'Occ' ],  // it goes on calling, and is refused
      [   9000, '+++', 'Occ' ],
      [  11000, '-++', 'Occ' ],  // its probe fails too
      [  15000, '+++', 'Occ' ],
      [  19000, '+++', 'Occ' ],
      [  21000, '-++', 'Occ' ],
      [  25000, '+++', 'Occ' ],
      [  29000, '+++', 'Occ' ],
      [  31000, '+++', 'ccc' ],  // its network is back
    ],
  },
  {
    name: 'when two of three have failed, the third opens before it has failed once',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '-++', 'Occ' ],
      [   2000, '+.+', 'Occ' ],
      [   2500, '.-.', 'OOc' ],
      [   2999, '..+', 'OOc' ],  // not asked yet: a second has not passed
      [   3000, '..+', 'OOo' ],
    ],
  },
  {
    name: 'one that was only told does not tell: when those who saw it have recovered, nobody reports',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '--.', 'OOc' ],
      [   1001, '..+', 'OOo' ],
      [   5000, '+++', 'OOo' ],  // c is open, but reports nothing
      [   9000, '+++', 'OOo' ],
      [  11000, '++.', 'cco' ],  // both probes pass
      [  11001, '+++', 'ccc' ],  // and so does its own, after its own time
      [  12000, '+++', 'ccc' ],
      [  13000, '+++', 'ccc' ],
    ],
  },
  {
    name: 'one that was told reports once its own probe has failed',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '--.', 'OOc' ],
      [   1001, '..+', 'OOo' ],
      [   5000, '++.', 'OOo' ],
      [   9000, '++.', 'OOo' ],
      [  11001, '..-', 'HHO' ],
    ],
  },
  {
    name: 'one whose own probes pass stays closed while the others still report, and does not flap',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '--.', 'OOc' ],
      [   1001, '..+', 'OOo' ],
      [   5000, '+++', 'OOo' ],
      [   9000, '+++', 'OOo' ],
      [  11001, '--+', 'OOc' ],
      [  12001, '+++', 'OOc' ],
      [  16001, '+++', 'OOc' ],
      [  20001, '+++', 'OOc' ],
      [  21001, '--+', 'OOc' ],
    ],
  },
  {
    name: 'it is tripped again only when the quorum has fallen and is reached anew',
    rows: [
      [      0, '+++', 'ccc' ],
      [   1000, '--.', 'OOc' ],
      [   1001, '..+', 'OOo' ],
      [   5000, '+++', 'OOo' ],
      [   9000, '+++', 'OOo' ],
      [  11001, '+-+', 'cOc' ],  // a has recovered
      [  12001, '..+', 'cOc' ],  // and c has seen that it has
      [  13001, '-..', 'OOc' ],  // a fails again
      [  14001, '..+', 'OOo' ],
    ],
  },
  {
    name: 'of five, two are not enough, and three are',
    rows: [
      [      0, '+++++', 'ccccc' ],
      [   1000, '--...', 'OOccc' ],
      [   2000, '+++++', 'OOccc' ],
      [   3000, '++-..', 'OOOcc' ],
      [   3001, '...++', 'OOOoo' ],
    ],
  },
  {
    name: 'of five with a quorum of a fifth, two are enough',
    options: { quorum: 0.2 },
    rows: [
      [      0, '+++++', 'ccccc' ],
      [   1000, '-....', 'Occcc' ],
      [   2000, '+++++', 'Occcc' ],  // one is never enough
      [   3000, '.-...', 'OOccc' ],
      [   4000, '+++++', 'OOooo' ],
    ],
  },
  {
    name: 'of two, one is half of them, and half is not more than half',
    rows: [
      [      0, '++', 'cc' ],
      [   1000, '-+', 'Oc' ],
      [   2000, '++', 'Oc' ],
      [   6000, '++', 'Oc' ],
    ],
  },
  {
    name: 'of four, two are half of them',
    rows: [
      [      0, '++++', 'cccc' ],
      [   1000, '--++', 'OOcc' ],
      [   2000, '++++', 'OOcc' ],
      [   3000, '++-.', 'OOOc' ],
      [   3001, '...+', 'OOOo' ],
    ],
  },
  {
    name: 'an instance that makes no calls is not counted, and neither is what it reported',
    rows: [
      [      0, '+++++', 'ccccc' ],
      [   1000, '--+++', 'OOccc' ],
      [   4000, '++..+', 'OOccc' ],  // of five
      [   6001, '....+', 'OOcco' ],  // of three: two have not been heard of for five seconds
    ],
  },
  {
    name: 'an instance that starts while the quorum holds begins open',
    rows: [
      [      0, '++.', 'ccc' ],
      [   1000, '--.', 'OOc' ],
      [   1500, '..+', 'OOo' ],
    ],
  },
];

/** How each instance is: its letter, in capitals when it reports. */
function lettersOf(circuits: readonly SharedCircuit[]): string {
  return circuits
    .map((circuit) => {
      const letter = circuit.state.slice(0, 1);
      return circuit.view().isReporting ? letter.toUpperCase() : letter;
    })
    .join('');
}

describe('sharedCircuit', () => {
  it.each(cases)('$name', async ({ options, rows }) => {
    const { clock, all } = instances(rows[0]![1].length, options);
    const seen: Row[] = [];
    for (const [atMs, calls] of rows) {
      clock.set(atMs);
      for (const [i, circuit] of all.entries()) {
        if (calls[i] === '+') call(circuit, 'ok');
        if (calls[i] === '-') await fail(circuit);
      }
      await rest();
      seen.push([atMs, calls, lettersOf(all)]);
    }
    expect(seen).toEqual(rows);
  });

  it('is a circuit breaker: what it says and does is what the one it was given says and does', async () => {
    const { clock, all } = instances(1);
    const circuit: CircuitBreaker = all[0]!;
    const told: unknown[] = [];
    for (const name of ['change', 'refused', 'ended'] as const) circuit.on(name, (event) => told.push([name, event]));
    expect(await circuit.run(() => 7)).toBe(7);
    await expect(circuit.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(circuit.stats()).toMatchObject({ state: 'closed', consecutiveFailures: 1 });
    call(circuit, 'failed');
    expect(circuit.state).toBe('open');
    await expect(circuit.run(() => 7)).rejects.toMatchObject({ code: 'circuit-open' });
    expect(circuit.retryAfterMs()).toBe(10_000);
    const saved = circuit.snapshot();
    circuit.close();
    expect(circuit.state).toBe('closed');
    circuit.restore(saved);
    expect(circuit.state).toBe('open');
    circuit.open();
    clock.advance(60_000);
    expect(circuit.stats()).toMatchObject({ state: 'open', isForced: true });
    expect(told.map((each) => (each as unknown[])[0])).toEqual(
      'ended ended ended change refused change change'.split(' '),
    );
  });

  it('passes the signal on', async () => {
    const { all } = instances(1);
    const reason = new Error('enough');
    await expect(all[0]!.run(() => 1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('says what it knows of the others', async () => {
    const { clock, all } = instances(3);
    expect(all[0]!.view()).toEqual({ members: 0, reports: 0, isQuorum: false, isMember: false, isReporting: false });
    await allCall(all);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    expect(all[0]!.view()).toEqual({ members: 3, reports: 1, isQuorum: false, isMember: true, isReporting: false });
    expect(all[1]!.view()).toMatchObject({ members: 3, reports: 1, isReporting: true });
  });

  it('tells of the quorum and of what it did', async () => {
    const { clock, all } = instances(3);
    const told: unknown[] = [];
    for (const [i, circuit] of all.entries()) circuit.on('quorum', (event) => told.push([i, event]));
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    const reached = { isReached: true, reports: 2, members: 3 };
    expect(told).toEqual([
      [1, { ...reached, hasTripped: false }],
      [0, { ...reached, hasTripped: false }],
      [2, { ...reached, hasTripped: true }],
    ]);
    told.length = 0;
    all[0]!.close();
    await rest();
    expect(told).toEqual([[0, { isReached: false, reports: 1, members: 3, hasTripped: false }]]);
  });

  it('what a process reported that is no longer there ends by itself', async () => {
    const { clock, all } = instances(3);
    await allCall(all);
    await fail(all[0]!);
    clock.advance(4999);
    await allCall(all.slice(1));
    expect(all[1]!.view()).toMatchObject({ members: 3, reports: 1 });
    clock.advance(1000);
    await allCall(all.slice(1));
    expect(all[1]!.view()).toMatchObject({ members: 2, reports: 0 });
  });

  it('keeps upstreams of different names apart', async () => {
    const { clock, all, join } = instances(2);
    const other = join({ name: 'search' });
    await allCall([...all, other]);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall([...all, other]);
    expect(states([...all, other])).toBe('open open closed');
    expect(other.view()).toMatchObject({ members: 1, reports: 0 });
  });
});

describe('what is a report', () => {
  it('held open by hand, an instance has seen nothing', async () => {
    const { all } = instances(1);
    await allCall(all);
    all[0]!.open();
    await rest();
    expect(all[0]!.view()).toMatchObject({ reports: 0, isReporting: false });
  });

  it('an instance that failed and is then held open by hand reports no longer', async () => {
    const { clock, all } = instances(1);
    await fail(all[0]!);
    expect(all[0]!.view().isReporting).toBe(true);
    all[0]!.open();
    clock.advance(1000);
    await allCall(all);
    expect(all[0]!.view()).toMatchObject({ reports: 0, isReporting: false });
  });

  it('a trip is one: the service said so itself', async () => {
    const { all } = instances(3);
    await allCall(all);
    all[0]!.trip();
    await rest();
    expect(all[0]!.view()).toMatchObject({ reports: 1, isReporting: true });
  });

  it('a trip of one that is open already is one too, unless it is held open by hand', async () => {
    const { clock, all } = instances(3);
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    expect([all[2]!.state, all[2]!.view().isReporting]).toEqual(['open', false]);
    all[2]!.trip();
    await rest();
    expect(all[2]!.view().isReporting).toBe(true);
    all[2]!.close();
    all[2]!.open();
    all[2]!.trip();
    await rest();
    expect(all[2]!.view().isReporting).toBe(false);
  });

  it('a state that was restored is none: whose eyes it was seen with is not known', async () => {
    const { all } = instances(1);
    await fail(all[0]!);
    const saved = all[0]!.snapshot();
    all[0]!.close();
    all[0]!.restore(saved);
    await rest();
    expect([all[0]!.state, all[0]!.view().isReporting]).toEqual(['open', false]);
  });

  it('one that nobody renewed is over, and comes back only with what was seen since', async () => {
    const { clock, all } = instances(1);
    await fail(all[0]!);
    clock.advance(5000);
    await allCall(all);
    clock.advance(1000);
    await allCall(all);
    expect([all[0]!.state, all[0]!.view().isReporting]).toEqual(['open', false]);
    expect(all[0]!.view()).toMatchObject({ members: 1, reports: 0 });
    clock.advance(4000);
    call(all[0]!, 'failed');
    await rest();
    expect(all[0]!.view()).toMatchObject({ reports: 1, isReporting: true });
  });

  it('what was seen after a report had ended is not lost with it', async () => {
    const { clock, all } = instances(1, { breaker: { openFor: '6s' } });
    await fail(all[0]!);
    clock.advance(6000);
    // The probe fails before the store was asked again, and found the report gone.
    call(all[0]!, 'failed');
    await rest();
    expect(all[0]!.view()).toMatchObject({ members: 1, reports: 1, isReporting: true });
  });
});

describe('who is counted', () => {
  it('whoever left is not, at once', async () => {
    const { clock, all } = instances(3);
    await allCall(all);
    await fail(all[0]!);
    await all[0]!.leave();
    clock.advance(1000);
    await allCall(all.slice(1));
    expect(all[1]!.view()).toMatchObject({ members: 2, reports: 0 });
    expect(all[0]!.view()).toMatchObject({ isMember: false, isReporting: false });
  });

  it('whoever left goes on alone, and does not come back', async () => {
    const { clock, all } = instances(3);
    await allCall(all);
    await all[2]!.leave();
    await all[2]!.leave();
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    await all[2]!.sync();
    expect(states(all)).toBe('open open closed');
    expect(all[0]!.view()).toMatchObject({ members: 2, reports: 2 });
    await fail(all[2]!);
    expect(all[2]!.state).toBe('open');
    expect(all[2]!.view().isReporting).toBe(false);
  });

  it('one that crashes and starts anew within the lease is counted beside what is left of it, if it has no name', async () => {
    const { all, join } = instances(1);
    await allCall(all);
    const again = join();
    await allCall([again]);
    expect(again.view().members).toBe(2);
  });

  it('with a name it is counted once, and its reports are too', async () => {
    const { clock, join } = instances(0);
    const others = [join(), join()];
    await allCall(others);
    const errors: unknown[] = [];
    // It crashes and starts anew every second, and every time its own network is bad.
    for (let start = 0; start < 10; start += 1) {
      const crashing = join({ instance: 'host-3' });
      crashing.on('sync-failed', ({ error }) => errors.push(error));
      await allCall([crashing]);
      await fail(crashing);
      clock.advance(1000);
      await allCall(others);
      expect(others[0]!.view().members).toBeLessThanOrEqual(3);
      expect(others[0]!.view().reports).toBeLessThanOrEqual(1);
      expect(states(others)).toBe('closed closed');
    }
    expect(errors[0]).toMatchObject({
      code: 'store-full',
      message: 'The instance "host-3" is not counted: another one of that name is, or was within the last 5000 ms.',
    });
  });

  it('without names such a one would have opened the circuit of the others: that is what the name is for', async () => {
    const { clock, join } = instances(0);
    const others = [join(), join()];
    await allCall(others);
    for (let start = 0; start < 5; start += 1) {
      const crashing = join();
      await allCall([crashing]);
      await fail(crashing);
      clock.advance(1000);
      await allCall(others);
    }
    expect(states(others)).toBe('open open');
  });

  it('one that has a name holds its place for as long as it calls, and comes back to it after a pause', async () => {
    const { clock, join } = instances(0);
    const named = join({ instance: 'host-1' });
    for (const pauseMs of [0, 1000, 4999, 5000, 60_000, 1000]) {
      clock.advance(pauseMs);
      await allCall([named]);
      expect(named.view()).toMatchObject({ members: 1, isMember: true });
    }
  });

  it('with more than may be nobody can tell how many there are: it is told, and each goes on alone', async () => {
    const { clock, join } = instances(0, { maxInstances: 2 });
    const all = [join(), join(), join(), join()];
    const errors: [number, unknown][] = [];
    for (const [i, circuit] of all.entries()) circuit.on('sync-failed', ({ error }) => errors.push([i, error]));
    await allCall(all.slice(0, 2));
    expect(all[1]!.view().members).toBe(2);
    expect(errors).toEqual([]);
    await allCall(all);
    expect(errors).toMatchObject([
      [
        2,
        {
          code: 'store-unavailable',
          message: 'The store cannot say how many of the 3 places are taken: limit.',
        },
      ],
      [3, { code: 'store-full', message: 'The store gives no place among the circuit-members of "billing": limit.' }],
    ]);
    for (const circuit of all) await fail(circuit);
    clock.advance(1000);
    await allCall(all);
    expect(all[3]!.view()).toMatchObject({ isMember: false, isReporting: false });
    await all[2]!.leave();
    clock.advance(1000);
    await allCall(all);
    // Who was one too many has a place now.
    expect(all[3]!.view().isMember).toBe(true);
  });
});

describe('when the store is asked', () => {
  function counted(store: Store): { store: Store; batches: () => number } {
    let batches = 0;
    return {
      store: {
        ...store,
        apply(...args) {
          batches += 1;
          return store.apply(...args);
        },
      },
      batches: () => batches,
    };
  }

  it('with calls, and not more often than it was told, and not at all without them', async () => {
    const clock = new TestClock();
    const { store, batches } = counted(memoryStore({ clock }));
    const circuit = sharedCircuit(circuitBreaker({ clock }), { store, name: 'billing', clock });
    await rest();
    expect(batches()).toBe(0);
    const rows: [atMs: number, batches: number][] = [
      [0, 2], // one that renews, one that counts
      [1, 2],
      [999, 2],
      [1000, 4],
      [1001, 4],
      [60_000, 8], // twice: it had been forgotten, and joins anew
      [-3_600_000, 8], // the clock stepped back: a second from there
      [-3_599_001, 8],
      [-3_599_000, 10],
    ];
    for (const [atMs, expected] of rows) {
      clock.set(atMs);
      for (let calls = 0; calls < 10; calls += 1) await circuit.run(() => 1);
      await rest();
      expect([atMs, batches()]).toEqual([atMs, expected]);
    }
    clock.advance(3_600_000);
    await rest();
    expect(batches()).toBe(10);
    await circuit.sync();
    expect(batches()).toBeGreaterThan(10);
  });

  it('at once when the circuit opens or closes by what it has seen', async () => {
    const { all } = instances(2);
    await allCall(all);
    await fail(all[0]!);
    await all[1]!.sync();
    expect(all[1]!.view().reports).toBe(1);
    all[0]!.close();
    await rest();
    await all[1]!.sync();
    expect(all[1]!.view().reports).toBe(0);
  });

  it('not inside the call that it is due to', async () => {
    const clock = new TestClock();
    const { store, batches } = counted(memoryStore({ clock }));
    const circuit = sharedCircuit(circuitBreaker({ clock }), { store, name: 'billing', clock });
    circuit.tryPass();
    circuit.trip();
    expect(batches()).toBe(0);
    await rest();
    expect(batches()).toBe(2);
  });

  it('and what it says is not acted upon inside the call', async () => {
    const { clock, all } = instances(3);
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    const changes: string[] = [];
    all[2]!.on('change', ({ from, to }) => changes.push(`${from} > ${to}`));
    const pass = all[2]!.tryPass();
    expect(pass).toBeDefined();
    expect(changes).toEqual([]);
    await rest();
    expect(changes).toEqual(['closed > open']);
    // It began before.
    pass!.ok();
    expect(all[2]!.state).toBe('open');
  });
});

describe('when the store fails', () => {
  type Answer = 'fails' | 'throws' | 'hangs' | 'degraded' | 'nonsense' | 'works' | 'works, but says that it failed';

  /** A store over memory that answers later, or not. */
  function unsure(clock: TestClock) {
    const memory = memoryStore({ clock });
    let answer: Answer = 'works';
    const hanging: (() => void)[] = [];
    const store: Store<'async'> = {
      mode: 'async',
      clock,
      apply(checks, atMs, requestId) {
        if (answer === 'throws') throw new Error('thrown');
        if (answer === 'fails') return Promise.reject(new Error('unreachable'));
        if (answer === 'nonsense') return Promise.resolve(undefined as never);
        const decisions = memory.apply(checks, atMs, requestId);
        if (answer === 'works, but says that it failed') return Promise.reject(new Error('reset by peer'));
        if (answer === 'degraded')
          return Promise.resolve(decisions.map((decision): Decision => ({ ...decision, degraded: 'open' })));
        if (answer === 'works') return Promise.resolve(decisions);
        return new Promise((resolve) => {
          hanging.push(() => resolve(decisions));
        });
      },
    };
    return {
      store,
      hanging,
      become(next: Answer) {
        answer = next;
        if (next !== 'hangs') for (const goOn of hanging.splice(0)) goOn();
      },
    };
  }

  function begin(count: number) {
    const clock = new TestClock();
    const faulty = unsure(clock);
    const { all, join } = instances(count, { store: faulty.store, clock, breaker: { clock } });
    const errors: string[] = [];
    for (const circuit of all) circuit.on('sync-failed', ({ error }) => errors.push((error as Error).message));
    return { clock, all, join, errors, ...faulty };
  }

  it.each<[Answer, RegExp]>([
    ['fails', /^unreachable$/],
    ['throws', /^thrown$/],
    ['degraded', /^The store did not answer; what was decided instead counts nobody\.$/],
    ['nonsense', /undefined/],
    ['works, but says that it failed', /^reset by peer$/],
  ])('and %s: calls go on by their own breaker, and it is told', async (answer, message) => {
    const { clock, all, errors, become } = begin(3);
    become(answer);
    expect(await all[0]!.run(() => 7)).toBe(7);
    await rest();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(message);
    await fail(all[0]!);
    expect(states(all)).toBe('open closed closed');
    become('works');
    clock.advance(6000);
    await allCall(all);
    clock.advance(1000);
    await allCall(all);
    // What it saw while the store was away is reported when it is back.
    expect(all[1]!.view()).toMatchObject({ members: 3, reports: 1 });
    expect(states(all)).toBe('open closed closed');
  });

  it('and hangs: calls do not wait, it is asked once and told once, and goes on when it answers', async () => {
    const { clock, all, errors, hanging, become } = begin(1);
    become('hangs');
    for (let second = 0; second < 20; second += 1) {
      expect(await all[0]!.run(() => second)).toBe(second);
      await rest();
      clock.advance(1000);
    }
    expect(hanging).toHaveLength(2);
    expect(errors).toEqual(['The store has not answered for 5000 ms.']);
    become('works');
    await rest();
    await allCall(all);
    expect(all[0]!.view()).toMatchObject({ members: 1, isMember: true });
    expect(errors).toHaveLength(1);
  });

  it('and what was known of the quorum stays as it was', async () => {
    const { clock, all, become } = begin(3);
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    expect(states(all)).toBe('open open open');
    become('fails');
    clock.advance(10_000);
    await allCall(all);
    expect(states(all)).toBe('closed closed closed');
    expect(all[2]!.view().isQuorum).toBe(true);
  });

  it('an instance never counts twice: what a lost answer may have taken has to end first', async () => {
    const { clock, all, become } = begin(2);
    await allCall(all);
    become('works, but says that it failed');
    await fail(all[0]!);
    become('works');
    for (let second = 0; second < 12; second += 1) {
      clock.advance(1000);
      await allCall(all);
      // Two reports of one instance would be a quorum.
      expect(all[1]!.view().reports).toBeLessThanOrEqual(1);
      expect(all[1]!.view().members).toBeLessThanOrEqual(2);
      expect(all[1]!.state).toBe('closed');
    }
    expect(all[0]!.view()).toMatchObject({ members: 2, isMember: true });
  });

  it('and its clock steps back after that, nothing is taken for as long again, and not for as long as the step', async () => {
    const { clock, all, become } = begin(1);
    clock.advance(3_600_000);
    become('works, but says that it failed');
    await allCall(all);
    become('works');
    const rows: [atMs: number, isMember: boolean][] = [
      [0, false],
      [1000, false], // the first question since the step: from here on
      [5999, false],
      [6999, true],
    ];
    for (const [atMs, isMember] of rows) {
      clock.set(atMs);
      await allCall(all);
      expect([atMs, all[0]!.view().isMember]).toEqual([atMs, isMember]);
    }
  });

  it('and takes no report, being counted goes on', async () => {
    const { clock, all, errors, store } = begin(1);
    await allCall(all);
    const members = {
      name: 'circuit-members',
      key: 'billing',
      policy: concurrency({ limit: 1001, lease: 5000 }),
      cost: 1,
    };
    await store.apply([{ ...members, name: 'circuit-reports', operation: 'block', durationMs: 3_600_000 }]);
    await fail(all[0]!);
    for (let second = 0; second < 8; second += 1) {
      clock.advance(1000);
      await allCall(all);
    }
    expect(new Set(errors)).toEqual(
      new Set(['The store gives no place among the circuit-reports of "billing": blocked.']),
    );
    const [decision] = await store.apply([{ ...members, operation: 'peek' }]);
    expect(decision!.remaining).toBe(1001 - 1 - 1);
  });

  it('what was seen while it was away is reported when it is back, also by one whose report has ended meanwhile', async () => {
    const { clock, all, become } = begin(1);
    await fail(all[0]!);
    become('fails');
    clock.advance(10_000);
    call(all[0]!, 'failed');
    await rest();
    clock.advance(1000);
    await allCall(all);
    become('works');
    for (let second = 0; second < 6; second += 1) {
      clock.advance(1000);
      await allCall(all);
    }
    expect(all[0]!.view()).toMatchObject({ members: 1, reports: 1, isReporting: true });
  });

  it('a report that could not be given back is given back later', async () => {
    const { clock, all, become } = begin(2);
    await allCall(all);
    await fail(all[0]!);
    become('fails');
    all[0]!.close();
    await rest();
    become('works');
    clock.advance(1000);
    await allCall(all);
    await all[1]!.sync();
    expect(all[1]!.view().reports).toBe(0);
  });

  it('leaving does not fail with it, and says so', async () => {
    const { all, errors, become } = begin(1);
    await allCall(all);
    become('fails');
    await all[0]!.leave();
    expect(errors).toEqual(['unreachable']);
  });

  it('leaving waits for a store that hangs for as long as the leases last, and no longer', async () => {
    const { clock, all, become, store } = begin(1);
    await allCall(all);
    become('hangs');
    let hasLeft = false;
    const leaving = all[0]!.leave().then(() => {
      hasLeft = true;
    });
    await rest();
    clock.advance(4999);
    await rest();
    expect(hasLeft).toBe(false);
    clock.advance(1);
    await leaving;
    expect(hasLeft).toBe(true);
    expect(clock.sleeping).toBe(0);
    expect(store.mode).toBe('async');
  });

  it('whoever has left is not tripped by what it had asked before', async () => {
    const { clock, all, become } = begin(3);
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    become('hangs');
    await allCall(all);
    const leaving = all[2]!.leave();
    become('works');
    await leaving;
    expect(states(all)).toBe('open open closed');
  });

  it('leaving while a question is under way gives back what that one took', async () => {
    const { clock, all, join, become } = begin(1);
    become('hangs');
    call(all[0]!, 'ok');
    await rest();
    const leaving = all[0]!.leave();
    become('works');
    await leaving;
    const other = join();
    await allCall([other]);
    expect(other.view().members).toBe(1);
    expect(clock.sleeping).toBe(0);
  });
});

describe('stores', () => {
  it('the shared memory of threads is one, if a key has room for so many', async () => {
    const clock = new TestClock();
    const store = sharedMemoryStore({ maxKeys: 100, cellsPerKey: 5 + 6 * 9, clock });
    const { all } = instances(3, { store, clock, breaker: { clock }, maxInstances: 8 });
    await allCall(all);
    await fail(all[0]!);
    await fail(all[1]!);
    clock.advance(1000);
    await allCall(all);
    expect(states(all)).toBe('open open open');
    expect(all[2]!.view()).toMatchObject({ members: 3, reports: 2, isReporting: false });
  });

  it('one behind degrade() is not believed while it degrades, however it was told to fail', async () => {
    for (const to of ['closed', 'open', 'local'] as const) {
      const clock = new TestClock();
      const safety = degrade({ to });
      const store = layered(memoryStore({ clock }), safety);
      const { all } = instances(3, { store, clock, breaker: { clock } });
      const errors: unknown[] = [];
      all[2]!.on('sync-failed', ({ error }) => errors.push(error));
      safety.breaker.open();
      await allCall(all);
      await fail(all[0]!);
      await fail(all[1]!);
      clock.advance(1000);
      await allCall(all);
      expect(states(all)).toBe('open open closed');
      expect(errors).toMatchObject([{ code: 'store-unavailable' }, { code: 'store-unavailable' }]);
      safety.breaker.close();
      clock.advance(5000);
      await allCall(all);
      clock.advance(1000);
      await allCall(all);
      expect(states(all)).toBe('open open open');
    }
  });

  it('one that cannot say how many there are is not believed', async () => {
    const clock = new TestClock();
    const memory = memoryStore({ clock });
    const quarantined: Store<'sync'> = {
      ...memory,
      apply: (checks, atMs) =>
        memory
          .apply(checks, atMs)
          .map((decision): Decision => ({ ...decision, allowed: false, remaining: 0, reason: 'quarantine' })),
    };
    const { all } = instances(1, { store: quarantined, clock, breaker: { clock } });
    const errors: unknown[] = [];
    all[0]!.on('sync-failed', ({ error }) => errors.push(error));
    await allCall(all);
    expect(errors).toMatchObject([{ code: 'store-unavailable' }]);
    expect(all[0]!.view()).toMatchObject({ members: 0, reports: 0, isQuorum: false });
    expect(all[0]!.state).toBe('closed');
  });
});

describe('options', () => {
  const store = memoryStore();
  const wrong: [options: unknown, message: string][] = [
    [undefined, 'what sharedCircuit options is given must be an object'],
    [{ name: 'billing' }, 'store must be a store such as redisStore(), got undefined.'],
    [{ name: 'billing', store: {} }, 'store must be a store such as memoryStore()'],
    [{ store }, 'name must be a text that is not empty, got undefined.'],
    [{ store, name: '' }, 'name must be a text that is not empty'],
    [{ store, name: 'billing', instance: '' }, 'instance must be a text that is not empty'],
    [{ store, name: 'billing', quorum: 1 }, 'quorum must be a number from 0 to below 1, got 1.'],
    [{ store, name: 'billing', quorum: -0.1 }, 'quorum must be a number from 0 to below 1'],
    [{ store, name: 'billing', quorum: Number.NaN }, 'quorum must be a number from 0 to below 1'],
    [{ store, name: 'billing', quorum: '0.5' }, 'quorum must be a number from 0 to below 1'],
    [{ store, name: 'billing', minReports: 1 }, 'minReports must be a whole number from 2 to 1000, got 1.'],
    [{ store, name: 'billing', minReports: 2.5 }, 'minReports must be a whole number'],
    [{ store, name: 'billing', minReports: 5, maxInstances: 4 }, 'minReports must be a whole number from 2 to 4'],
    [{ store, name: 'billing', maxInstances: 10_001 }, 'maxInstances must be a whole number from 2 to 10000'],
    [{ store, name: 'billing', every: 0 }, 'every must be a time above 0'],
    [{ store, name: 'billing', lease: '1s' }, 'lease must be longer than every (1000 ms), got "1s".'],
    [{ store, name: 'billing', clock: {} }, 'clock must be an object with now() and sleep()'],
    [{ store, name: 'billing', quorom: 0.5 }, 'sharedCircuit options has no field "quorom".'],
  ];

  it.each(wrong)('refuses %j', (options, message) => {
    expect(() => sharedCircuit(circuitBreaker(), options as SharedCircuitOptions)).toThrow(message);
  });

  it('refuses what is no breaker, and one that is shared already: it would be two witnesses', async () => {
    expect(() => sharedCircuit({} as never, { store, name: 'billing' })).toThrow(
      'breaker must be a circuit breaker such as circuitBreaker()',
    );
    expect(() => sharedCircuit(undefined as never, { store, name: 'billing' })).toThrow('breaker must be');
    const breaker = circuitBreaker();
    const first = sharedCircuit(breaker, { store, name: 'billing' });
    expect(() => sharedCircuit(breaker, { store, name: 'billing' })).toThrow('one that is not shared already');
    expect(() => sharedCircuit(first, { store, name: 'all' })).toThrow('one that is not shared already');
    await first.leave();
    expect(() => sharedCircuit(breaker, { store, name: 'billing' })).not.toThrow();
  });

  it('knows its events by name', () => {
    const circuit = sharedCircuit(circuitBreaker(), { store, name: 'billing' });
    expect(() => circuit.on('opened' as 'change', () => {})).toThrow(
      'event must be one of change, refused, ended, quorum, sync-failed, got "opened".',
    );
  });
});
