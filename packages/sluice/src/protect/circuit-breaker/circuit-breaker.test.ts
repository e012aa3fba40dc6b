import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import {
  type CircuitBreaker,
  type CircuitBreakerEvents,
  type CircuitState,
  circuitBreaker,
} from './circuit-breaker.ts';
import type { CircuitBreakerOptions } from './settings.ts';
import type { CircuitBreakerSnapshot } from './snapshot.ts';

type Call = 'ok' | 'failed' | 'ignored' | 'refused';
type Row = readonly [atMs: number, call: Call, stateAfter: CircuitState];

interface Case {
  readonly name: string;
  readonly options: CircuitBreakerOptions;
  readonly rows: readonly Row[];
}

// biome-ignore format: aligned rows
const cases: readonly Case[] = [
  {
    name: 'opens after so many failures in a row, and tries again after its time',
    options: { consecutiveFailures: 3, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    1, 'failed',  'closed' ],
      [    2, 'failed',  'open' ],
      [    3, 'refused', 'open' ],
      [ 1001, 'refused', 'open' ],  // one millisecond too soon
      [ 1002, 'ok',      'closed' ],  // exactly on time
      [ 1003, 'failed',  'closed' ],  // what was counted before the trip is forgotten
      [ 1004, 'failed',  'closed' ],
      [ 1005, 'failed',  'open' ],
    ],
  },
  {
    name: 'a success in between starts the count of failures in a row anew',
    options: { consecutiveFailures: 2, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    1, 'ok',      'closed' ],
      [    2, 'failed',  'closed' ],
      [    3, 'ok',      'closed' ],
      [    4, 'failed',  'closed' ],
      [    5, 'failed',  'open' ],
    ],
  },
  {
    name: 'an ignored call neither heals nor counts',
    options: { consecutiveFailures: 2, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    1, 'ignored', 'closed' ],
      [    2, 'failed',  'open' ],
      [ 1002, 'ignored', 'half-open' ],
      [ 1003, 'ok',      'closed' ],
    ],
  },
  {
    name: 'a probe that fails opens it for as long again',
    options: { consecutiveFailures: 1, openFor: 1000 },
    rows: [
      [    0, 'failed',  'open' ],
      [ 1000, 'failed',  'open' ],
      [ 1999, 'refused', 'open' ],
      [ 2000, 'ok',      'closed' ],
    ],
  },
  {
    name: 'without a ratio the first of several probes that fails decides, and all have to pass',
    options: { consecutiveFailures: 1, openFor: 1000, probes: 3 },
    rows: [
      [    0, 'failed',  'open' ],
      [ 1000, 'ok',      'half-open' ],
      [ 1000, 'failed',  'open' ],
      [ 2000, 'ok',      'half-open' ],
      [ 2000, 'ok',      'half-open' ],
      [ 2000, 'ok',      'closed' ],
    ],
  },
  {
    name: 'opens at the ratio, not only above it, and not below the least number of calls',
    options: { failureRatio: 0.5, windowCalls: 10, minCalls: 4, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    0, 'failed',  'closed' ],
      [    0, 'failed',  'closed' ],  // 3 of 3, but there are too few
      [    0, 'ok',      'open' ],    // 3 of 4: the success is what makes them enough
    ],
  },
  {
    name: 'a window by count holds the last calls only',
    options: { failureRatio: 0.5, windowCalls: 4, minCalls: 4, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    0, 'ok',      'closed' ],
      [    0, 'ok',      'closed' ],
      [    0, 'ok',      'closed' ],
      [    0, 'failed',  'closed' ],  // 1 of the last 4: the first has left
      [    0, 'failed',  'open' ],    // 2 of the last 4
    ],
  },
  {
    name: 'an hour-old failure has no vote in a window by count that is bounded in time',
    options: { failureRatio: 0.5, windowCalls: 4, window: '1m', minCalls: 2, openFor: 1000 },
    rows: [
      [         0, 'failed',  'closed' ],
      [ 3_600_000, 'ok',      'closed' ],  // alone in the window
      [ 3_600_001, 'ok',      'closed' ],
      [ 3_600_002, 'failed',  'closed' ],  // 1 of 3
      [ 3_660_001, 'failed',  'open' ],    // both successes are a minute old; 2 of 2
    ],
  },
  {
    name: 'without a bound in time a window by count remembers for as long as it takes',
    options: { failureRatio: 0.5, windowCalls: 4, minCalls: 2, openFor: 1000 },
    rows: [
      [         0, 'failed',  'closed' ],
      [ 3_600_000, 'ok',      'open' ],
    ],
  },
  {
    name: 'an hour-old failure has no vote in a window by time, however few calls came since',
    options: { failureRatio: 0.5, window: '10s', minCalls: 2, openFor: 1000 },
    rows: [
      [         0, 'failed',  'closed' ],
      [ 3_600_000, 'failed',  'closed' ],
      [ 3_600_000, 'ok',      'open' ],
    ],
  },
  {
    name: 'in a window by time a failure votes until it is as old as the window',
    options: { failureRatio: 0.5, window: 1000, minCalls: 2, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [ 1000, 'failed',  'closed' ],  // the first is exactly one window old
      [ 1999, 'ok',      'open' ],    // one millisecond before that
    ],
  },
  {
    name: 'both ways to trip may be asked for',
    options: { consecutiveFailures: 3, failureRatio: 0.9, windowCalls: 100, minCalls: 50, openFor: 1000 },
    rows: [
      [    0, 'failed',  'closed' ],
      [    0, 'failed',  'closed' ],
      [    0, 'failed',  'open' ],
    ],
  },
  {
    name: 'with a ratio all of the probes decide together',
    options: { failureRatio: 0.5, minCalls: 1, openFor: 1000, probes: 4 },
    rows: [
      [    0, 'failed',  'open' ],
      [ 1000, 'failed',  'half-open' ],
      [ 1000, 'ok',      'half-open' ],
      [ 1000, 'ok',      'half-open' ],
      [ 1000, 'ok',      'closed' ],  // 1 of 4
      [ 1000, 'failed',  'open' ],
      [ 2000, 'failed',  'half-open' ],
      [ 2000, 'ok',      'half-open' ],
      [ 2000, 'ok',      'half-open' ],
      [ 2000, 'failed',  'open' ],    // 2 of 4
    ],
  },
  {
    name: 'each time its probes fail it stays open longer, up to a cap, and starts anew once it was closed',
    options: { consecutiveFailures: 1, openFor: 1000, openGrowth: 2, openForMax: 3000 },
    rows: [
      [     0, 'failed',  'open' ],
      [  1000, 'failed',  'open' ],
      [  2999, 'refused', 'open' ],
      [  3000, 'failed',  'open' ],  // after 2 seconds
      [  5999, 'refused', 'open' ],
      [  6000, 'failed',  'open' ],  // after 3, not 4
      [  9000, 'ok',      'closed' ],
      [  9000, 'failed',  'open' ],
      [ 10_000, 'ok',     'closed' ],
    ],
  },
];

/** What a call came to. */
function make(breaker: CircuitBreaker, call: Call): Call {
  const pass = breaker.tryPass();
  if (!pass) return 'refused';
  if (call !== 'refused') pass[call]();
  return call;
}

function begin(options: CircuitBreakerOptions = {}) {
  const clock = new TestClock();
  const breaker = circuitBreaker({ openFor: 1000, clock, ...options });
  const changes: string[] = [];
  breaker.on('change', ({ from, to, reason }) => changes.push(`${from} > ${to}: ${reason}`));
  return { clock, breaker, changes };
}

/** Opens a breaker of one failure. */
function opened(options: CircuitBreakerOptions = {}) {
  const begun = begin({ consecutiveFailures: 1, ...options });
  make(begun.breaker, 'failed');
  return begun;
}

describe('circuitBreaker', () => {
  it.each(cases)('$name', ({ options, rows }) => {
    const clock = new TestClock();
    const breaker = circuitBreaker({ ...options, clock });
    const seen = rows.map(([atMs, call]) => {
      clock.set(atMs);
      return [atMs, make(breaker, call), breaker.state];
    });
    expect(seen).toEqual(rows);
  });

  it('counts each call once, by the first that is said of it', () => {
    const { breaker } = begin({ consecutiveFailures: 2 });
    const pass = breaker.tryPass()!;
    pass.failed();
    pass.failed();
    pass.ok();
    pass.ignored();
    expect(breaker.stats()).toMatchObject({ state: 'closed', consecutiveFailures: 1 });
  });

  it('opens after five failures in a row unless told otherwise, for half a minute', () => {
    const clock = new TestClock();
    const breaker = circuitBreaker({ clock });
    for (let call = 0; call < 4; call += 1) make(breaker, 'failed');
    expect(breaker.state).toBe('closed');
    make(breaker, 'failed');
    expect(breaker.retryAfterMs()).toBe(30_000);
  });

  it('counts a slow call as failed, and one that is exactly as slow as allowed does not', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1, slowAfter: 100 });
    const inTime = breaker.tryPass()!;
    clock.advance(100);
    inTime.ok();
    expect(breaker.state).toBe('closed');
    const slow = breaker.tryPass()!;
    clock.advance(101);
    slow.ok();
    expect(breaker.state).toBe('open');
  });

  it('does not count a slow call that is ignored', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1, slowAfter: 100 });
    const slow = breaker.tryPass()!;
    clock.advance(500);
    slow.ignored();
    expect(breaker.state).toBe('closed');
  });

  it('leaves part of the time open to chance', () => {
    const draws = [0, 0.5];
    const { clock, breaker } = opened({ jitter: 0.4, random: () => draws.shift()! });
    expect(breaker.retryAfterMs()).toBe(1000);
    clock.advance(1000);
    make(breaker, 'failed');
    expect(breaker.retryAfterMs()).toBe(800);
  });
});

describe('a window by time', () => {
  it('counts any number of calls', () => {
    const { clock, breaker } = begin({ failureRatio: 1, window: 1000, minCalls: 100 });
    for (let call = 0; call < 900; call += 1) {
      make(breaker, call % 3 === 0 ? 'failed' : 'ok');
      clock.advance(1);
    }
    expect(breaker.stats()).toMatchObject({ calls: 900, failures: 300 });
  });

  it('has room for all of its parts', () => {
    const { clock, breaker } = begin({ failureRatio: 1, window: 1000, minCalls: 100 });
    for (let call = 0; call < 100; call += 1) {
      clock.advance(50);
      make(breaker, 'ok');
      expect(breaker.stats().calls).toBe(Math.min(call + 1, 20));
    }
  });
});

describe('half-open', () => {
  it('lets a limited number of probes through at once, and refuses the rest', () => {
    const { clock, breaker } = opened({ probes: 2 });
    clock.advance(1000);
    const first = breaker.tryPass();
    const second = breaker.tryPass();
    expect([first, second]).not.toContain(undefined);
    expect(breaker.tryPass()).toBeUndefined();
    first!.ok();
    // A probe that passed has had its turn: its place is not given to another.
    expect(breaker.tryPass()).toBeUndefined();
    second!.ok();
    expect(breaker.state).toBe('closed');
  });

  it('gives the place of an ignored probe to another', () => {
    const { clock, breaker } = opened();
    clock.advance(1000);
    breaker.tryPass()!.ignored();
    expect(breaker.state).toBe('half-open');
    breaker.tryPass()!.ok();
    expect(breaker.state).toBe('closed');
  });

  it('is not kept up by a probe that never ends: after its time that one has failed', () => {
    const { clock, breaker, changes } = opened({ probeTimeout: 300 });
    clock.advance(1000);
    const hanging = breaker.tryPass()!;
    expect(breaker.retryAfterMs()).toBe(300);
    clock.advance(299);
    expect(breaker.tryPass()).toBeUndefined();
    expect(breaker.state).toBe('half-open');
    clock.advance(1);
    expect(breaker.state).toBe('open');
    expect(breaker.retryAfterMs()).toBe(1000);
    clock.advance(1000);
    hanging.ok();
    expect(breaker.state).toBe('half-open');
    expect(changes.at(-2)).toBe('half-open > open: probes-failed');
  });

  it('may have a place as soon as the first of its probes ends, or is overdue', () => {
    const { clock, breaker } = opened({ probes: 2, probeTimeout: 300 });
    clock.advance(1000);
    breaker.tryPass();
    clock.advance(100);
    breaker.tryPass();
    expect(breaker.retryAfterMs()).toBe(200);
  });

  it('an overdue probe has failed, also when nobody looked before it ended', () => {
    const { clock, breaker } = opened({ probeTimeout: 300 });
    clock.advance(1000);
    const late = breaker.tryPass()!;
    clock.advance(300);
    late.ok();
    expect(breaker.state).toBe('open');
  });

  it('several overdue probes are one failed attempt', () => {
    const draws = [0, 0.5];
    const { clock, breaker } = opened({
      probes: 3,
      probeTimeout: 300,
      openGrowth: 2,
      jitter: 1,
      random: () => draws.shift()!,
    });
    clock.advance(1000);
    for (let probe = 0; probe < 3; probe += 1) breaker.tryPass();
    clock.advance(300);
    expect(breaker.retryAfterMs()).toBe(1000);
    expect(breaker.snapshot().reopenings).toBe(1);
  });

  it('with a ratio, an overdue probe is one vote among the others', () => {
    const { clock, breaker } = begin({ failureRatio: 0.5, minCalls: 1, probes: 3, probeTimeout: 300 });
    make(breaker, 'failed');
    clock.advance(1000);
    breaker.tryPass();
    make(breaker, 'ok');
    make(breaker, 'ok');
    expect(breaker.state).toBe('half-open');
    clock.advance(300);
    expect(breaker.state).toBe('closed');
  });
});

describe('half-open with a ratio', () => {
  function probing() {
    const begun = begin({ failureRatio: 0.5, minCalls: 1, probes: 3, probeTimeout: 300 });
    make(begun.breaker, 'failed');
    begun.clock.advance(1000);
    return begun;
  }

  it('counts all overdue probes at once', () => {
    const { clock, breaker } = probing();
    make(breaker, 'ok');
    breaker.tryPass();
    breaker.tryPass();
    clock.advance(300);
    expect(breaker.state).toBe('open');
  });

  it('an overdue probe has voted: what it says later is no second vote', () => {
    const { clock, breaker } = probing();
    const hanging = breaker.tryPass()!;
    clock.advance(300);
    make(breaker, 'ok');
    hanging.ok();
    expect(breaker.state).toBe('half-open');
    make(breaker, 'ok');
    expect(breaker.state).toBe('closed');
  });
});

describe('a late result, of a call that began before the state changed', () => {
  it('does not close a circuit that is open', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1 });
    const slow = breaker.tryPass()!;
    make(breaker, 'failed');
    slow.ok();
    expect(breaker.state).toBe('open');
    clock.advance(1000);
    expect(breaker.state).toBe('half-open');
  });

  it('is no probe, and does not decide in half-open', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1 });
    const [ok, failed] = [breaker.tryPass()!, breaker.tryPass()!];
    make(breaker, 'failed');
    clock.advance(1000);
    expect(breaker.state).toBe('half-open');
    ok.ok();
    expect(breaker.state).toBe('half-open');
    failed.failed();
    expect(breaker.state).toBe('half-open');
    expect(breaker.tryPass()).toBeDefined();
  });

  it('does not open a circuit that has recovered', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1 });
    const slow = breaker.tryPass()!;
    make(breaker, 'failed');
    clock.advance(1000);
    make(breaker, 'ok');
    slow.failed();
    expect(breaker.stats()).toMatchObject({ state: 'closed', consecutiveFailures: 0 });
  });

  it('of a probe does not count for the next probes', () => {
    const { clock, breaker } = opened({ probes: 2 });
    clock.advance(1000);
    const [first, second] = [breaker.tryPass()!, breaker.tryPass()!];
    first.failed();
    clock.advance(1000);
    expect(breaker.state).toBe('half-open');
    second.failed();
    expect(breaker.state).toBe('half-open');
    make(breaker, 'ok');
    make(breaker, 'ok');
    expect(breaker.state).toBe('closed');
  });

  it('of before a close by hand does not count after it', () => {
    const { breaker } = begin({ consecutiveFailures: 1 });
    const slow = breaker.tryPass()!;
    breaker.close();
    slow.failed();
    expect(breaker.state).toBe('closed');
  });
});

describe('by hand', () => {
  it('held open it stays open, however long, until it is closed', () => {
    const { clock, breaker, changes } = begin();
    breaker.open();
    expect(breaker.retryAfterMs()).toBe(Number.POSITIVE_INFINITY);
    clock.advance(1e9);
    expect(breaker.tryPass()).toBeUndefined();
    breaker.trip();
    expect(breaker.stats()).toMatchObject({ state: 'open', isForced: true, refused: 1 });
    breaker.close();
    expect(breaker.stats()).toMatchObject({ state: 'closed', isForced: false });
    expect(changes).toEqual(['closed > open: by-hand', 'open > closed: by-hand']);
  });

  it('an open circuit can be held open, and a half-open one too', () => {
    const { clock, breaker } = opened();
    breaker.open();
    clock.advance(5000);
    expect(breaker.state).toBe('open');
    breaker.close();
    make(breaker, 'failed');
    clock.advance(1000);
    expect(breaker.state).toBe('half-open');
    const probe = breaker.tryPass()!;
    breaker.open();
    probe.ok();
    expect(breaker.state).toBe('open');
  });

  it('closing forgets what was counted', () => {
    const { breaker } = begin({ consecutiveFailures: 2, failureRatio: 0.9, minCalls: 5 });
    make(breaker, 'failed');
    breaker.close();
    expect(breaker.stats()).toMatchObject({ calls: 0, failures: 0, consecutiveFailures: 0 });
    make(breaker, 'failed');
    expect(breaker.state).toBe('closed');
  });

  it('trips as failures would: it recovers by itself, and grows when it is tripped half-open', () => {
    const { clock, breaker } = begin({ openGrowth: 1.5 });
    breaker.trip();
    expect(breaker.retryAfterMs()).toBe(1000);
    clock.advance(600);
    breaker.trip();
    expect(breaker.retryAfterMs()).toBe(1000);
    clock.advance(1000);
    breaker.trip();
    expect(breaker.retryAfterMs()).toBe(1500);
  });
});

describe('a clock that steps back', () => {
  const hourMs = 3_600_000;

  /** Failed calls, ten a second, until it opens. */
  function noticedAfter(breaker: CircuitBreaker, clock: TestClock): number {
    let calls = 0;
    for (; breaker.state === 'closed' && calls < 1000; calls += 1) {
      clock.advance(100);
      make(breaker, 'failed');
    }
    return calls;
  }

  it.each([
    ['by time', { failureRatio: 0.5, window: '10s' }],
    ['by count, bounded in time', { failureRatio: 0.5, window: '10s', windowCalls: 200 }],
  ] as const)('notices an outage as soon as one that does not (a window %s)', (_, options) => {
    const noticed = [0, hourMs].map((stepMs) => {
      const { clock, breaker } = begin({ ...options, minCalls: 10 });
      make(breaker, 'ok');
      clock.advance(-stepMs);
      // Somebody looks: time that passes before anybody has seen the step cannot be told from it.
      breaker.stats();
      // Twenty minutes in which all is well.
      for (let call = 0; call < 12_000; call += 1) {
        clock.advance(100);
        make(breaker, 'ok');
      }
      return [breaker.stats().calls, noticedAfter(breaker, clock)];
    });
    expect(noticed[1]).toEqual(noticed[0]);
  });

  it('ages votes from before the step as long as it takes, and no longer', () => {
    const { clock, breaker } = begin({ failureRatio: 1, window: '10s', minCalls: 100 });
    make(breaker, 'failed');
    clock.advance(6000);
    make(breaker, 'failed');
    clock.advance(-hourMs);
    expect(breaker.stats().calls).toBe(2);
    clock.advance(4000);
    expect(breaker.stats().calls).toBe(1);
    clock.advance(6000);
    expect(breaker.stats().calls).toBe(0);
  });

  it('saves what it knows by that clock, and goes on from what another saved', () => {
    const options = { failureRatio: 1, window: '10s', minCalls: 100, clock: new TestClock(hourMs) } as const;
    const { clock } = options;
    const stepped = circuitBreaker(options);
    make(stepped, 'failed');
    clock.advance(1000 - hourMs);
    make(stepped, 'ok');
    const saved = stepped.snapshot();
    expect(saved.votes.filter((_, i) => i % 3 === 0).every((atMs) => atMs <= 1000)).toBe(true);
    const fresh = circuitBreaker(options);
    for (const breaker of [fresh, stepped]) {
      breaker.restore(saved);
      expect(breaker.stats()).toMatchObject({ calls: 2, failures: 1 });
      expect(breaker.snapshot()).toEqual(saved);
    }
    clock.advance(10_000);
    expect([fresh.stats().calls, stepped.stats().calls]).toEqual([0, 0]);
  });

  it('saves how long it is open by that clock', () => {
    const { clock, breaker } = opened();
    clock.advance(400);
    breaker.tryPass();
    clock.advance(-hourMs);
    const again = circuitBreaker({ clock });
    again.restore(breaker.snapshot());
    expect([breaker.retryAfterMs(), again.retryAfterMs()]).toEqual([600, 600]);
  });

  it('does not keep what a clock saved that was ahead', () => {
    const { clock, breaker } = begin({ failureRatio: 1, window: '10s', minCalls: 100 });
    const ahead = circuitBreaker({ failureRatio: 1, window: '10s', minCalls: 100, clock: new TestClock(hourMs) });
    make(ahead, 'failed');
    breaker.restore(ahead.snapshot());
    expect(breaker.stats().calls).toBe(1);
    clock.advance(10_000);
    expect(breaker.stats().calls).toBe(0);
  });

  it('makes it stay open for its time again, and no longer', () => {
    const { clock, breaker } = opened();
    clock.set(-3_600_000);
    expect(breaker.retryAfterMs()).toBe(1000);
    clock.advance(1000);
    expect(breaker.state).toBe('half-open');
  });

  it('does not keep a hanging probe alive', () => {
    const { clock, breaker } = opened({ probeTimeout: 300 });
    clock.advance(1000);
    breaker.tryPass();
    clock.set(-3_600_000);
    expect(breaker.state).toBe('half-open');
    clock.advance(300);
    expect(breaker.state).toBe('open');
  });

  it('keeps a window by count at its size', () => {
    const { clock, breaker } = begin({ failureRatio: 1, windowCalls: 3, minCalls: 3 });
    make(breaker, 'ok');
    clock.set(-1000);
    for (let call = 0; call < 5; call += 1) make(breaker, call % 2 ? 'ok' : 'failed');
    expect(breaker.stats().calls).toBe(3);
  });
});

describe('events', () => {
  it('tell of changes, refusals and ends, in order', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 1, slowAfter: 50 });
    const told: unknown[] = [];
    const names: (keyof CircuitBreakerEvents)[] = ['change', 'refused', 'ended'];
    for (const name of names) breaker.on(name, (event) => told.push([name, event]));
    const late = breaker.tryPass()!;
    const slow = breaker.tryPass()!;
    clock.advance(60);
    slow.ok();
    late.failed();
    breaker.tryPass();
    expect(told).toEqual([
      ['ended', { outcome: 'failed', durationMs: 60, isSlow: true, isLate: false }],
      ['change', { from: 'closed', to: 'open', reason: 'consecutive-failures', retryAfterMs: 1000 }],
      ['ended', { outcome: 'failed', durationMs: 60, isSlow: true, isLate: true }],
      ['refused', { state: 'open' }],
    ]);
  });

  it('name the reason', () => {
    const { clock, breaker, changes } = begin({ failureRatio: 1, minCalls: 1 });
    make(breaker, 'failed');
    clock.advance(1000);
    make(breaker, 'ok');
    expect(changes).toEqual([
      'closed > open: failure-ratio',
      'open > half-open: time-over',
      'half-open > closed: probes-passed',
    ]);
  });

  it('are told until the listener leaves, and of known names only', () => {
    const { breaker } = begin();
    let told = 0;
    const listener = () => {
      told += 1;
    };
    const leave = breaker.on('refused', listener);
    breaker.on('refused', listener);
    breaker.open();
    breaker.tryPass();
    expect(told).toBe(2);
    leave();
    breaker.tryPass();
    expect(told).toBe(3);
    expect(() => breaker.on('opened' as 'change', listener)).toThrow('event must be one of change, refused, ended');
    expect(() => breaker.on('change', undefined as never)).toThrow('listener must be a function');
  });

  it('a listener may act on the breaker', () => {
    const { breaker } = begin({ consecutiveFailures: 1 });
    breaker.on('ended', () => breaker.close());
    make(breaker, 'failed');
    expect(breaker.state).toBe('closed');
  });

  it('a listener that throws does not disturb the call, and its error surfaces', async () => {
    const { breaker } = begin({ consecutiveFailures: 1 });
    const surfaced = new Promise((resolve) => {
      const before = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.once('uncaughtException', (error) => {
        for (const each of before) process.on('uncaughtException', each);
        resolve(error);
      });
    });
    breaker.on('change', () => {
      throw new Error('from the listener');
    });
    expect(make(breaker, 'failed')).toBe('failed');
    expect(breaker.state).toBe('open');
    expect(await surfaced).toMatchObject({ message: 'from the listener' });
  });
});

describe('run', () => {
  it('returns what the function returns, and rethrows what it throws', async () => {
    const { breaker } = begin({ consecutiveFailures: 2 });
    expect(await breaker.run(() => 7)).toBe(7);
    expect(await breaker.run(async () => 'later')).toBe('later');
    const fail = () => breaker.run(() => Promise.reject(new Error('down')));
    await expect(fail()).rejects.toThrow('down');
    await expect(breaker.run(() => raise('down too'))).rejects.toThrow('down too');
    expect(breaker.state).toBe('open');
  });

  it('throws circuit-open without calling, and says for how long', async () => {
    const { clock, breaker } = opened({ name: 'billing' });
    clock.advance(0.5);
    let called = false;
    const refused = await breaker
      .run(() => {
        called = true;
      })
      .catch((error) => error);
    expect(called).toBe(false);
    expect(refused).toBeInstanceOf(SluiceError);
    expect(refused.code).toBe('circuit-open');
    expect(refused.message).toBe('The circuit breaker "billing" is open and lets no call through for another 1000 ms.');
    breaker.open();
    await expect(breaker.run(() => 1)).rejects.toThrow(
      'The circuit breaker "billing" is open and lets no call through until close() is called.',
    );
  });

  it('says at most how long while the probes are out', async () => {
    const { clock, breaker } = opened({ probeTimeout: 250 });
    clock.advance(1000);
    breaker.tryPass();
    await expect(breaker.run(() => 1)).rejects.toThrow(
      'The circuit breaker is half-open and lets no call through for another 250 ms at most.',
    );
  });

  it('lets the caller say what is a failure and what says nothing', async () => {
    const { breaker } = begin({
      consecutiveFailures: 1,
      isFailure: (ended) => 'value' in ended && ended.value === 503,
      isIgnored: (ended) => 'error' in ended && (ended.error as Error).message === 'not found',
    });
    await breaker.run(() => 200);
    await expect(breaker.run(() => raise('not found'))).rejects.toThrow('not found');
    await expect(breaker.run(() => raise('bad request'))).rejects.toThrow('bad request');
    expect(breaker.state).toBe('closed');
    expect(await breaker.run(() => 503)).toBe(503);
    expect(breaker.state).toBe('open');
  });

  it('ignores a call whose own signal was aborted, and does not begin one that is', async () => {
    const { clock, breaker } = opened();
    clock.advance(1000);
    const stop = new AbortController();
    const call = breaker.run(
      (signal) => new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason))),
      { signal: stop.signal },
    );
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(breaker.state).toBe('half-open');
    await expect(breaker.run(() => 1, { signal: stop.signal })).rejects.toThrow('enough');
    expect(await breaker.run(() => 1)).toBe(1);
    expect(breaker.state).toBe('closed');
  });

  it('a call that succeeded although its signal was aborted has succeeded', async () => {
    const { clock, breaker } = opened();
    clock.advance(1000);
    const stop = new AbortController();
    await breaker.run(() => stop.abort(), { signal: stop.signal });
    expect(breaker.state).toBe('closed');
  });

  it('is not kept open by a clock that once did not know the time', () => {
    let nowMs = 0;
    const clock = { now: () => nowMs, sleep: async () => {} };
    const breaker = circuitBreaker({ consecutiveFailures: 1, openFor: '1s', clock });
    const pass = breaker.tryPass();
    nowMs = Number.NaN;
    expect(() => pass?.failed()).toThrow('the time of the clock must be milliseconds since the epoch');
    nowMs = 10;
    breaker.tryPass()?.failed();
    expect(breaker.retryAfterMs()).toBe(1000);
    nowMs = 1010;
    expect(breaker.state).toBe('half-open');
  });

  it('learns nothing from a call that a protection further in did not make', async () => {
    const breaker = circuitBreaker({ consecutiveFailures: 1, isIgnored: () => false });
    for (const code of ['circuit-open', 'throttled', 'bulkhead-full'] as const) {
      const refused = () => Promise.reject(new SluiceError(code, 'was not made'));
      await expect(breaker.run(refused)).rejects.toMatchObject({ code });
      expect(breaker.state).toBe('closed');
    }
    await expect(breaker.run(() => Promise.reject(new SluiceError('timed-out', 'was made')))).rejects.toThrow();
    expect(breaker.state).toBe('open');
  });

  it('a classifier that throws leaves no probe behind', async () => {
    const { clock, breaker } = opened({ isFailure: () => raise('mistaken classifier') });
    clock.advance(1000);
    await expect(breaker.run(() => 1)).rejects.toThrow('mistaken classifier');
    expect(breaker.state).toBe('half-open');
    expect(breaker.tryPass()).toBeDefined();
  });
});

describe('a snapshot', () => {
  const throughJson = (snapshot: CircuitBreakerSnapshot): CircuitBreakerSnapshot =>
    JSON.parse(JSON.stringify(snapshot));

  it('keeps an open circuit open for the rest of its time, with its growth', () => {
    const { clock, breaker } = opened({ openGrowth: 2 });
    clock.advance(1000);
    make(breaker, 'failed');
    clock.advance(500);
    const again = circuitBreaker({ openFor: 1000, openGrowth: 2, consecutiveFailures: 1, clock });
    again.restore(throughJson(breaker.snapshot()));
    expect(again.retryAfterMs()).toBe(1500);
    clock.advance(1500);
    make(again, 'failed');
    expect(again.retryAfterMs()).toBe(4000);
  });

  it('of a half-open circuit begins with new probes', () => {
    const { clock, breaker } = opened();
    clock.advance(1000);
    breaker.tryPass();
    const again = circuitBreaker({ clock });
    again.restore(throughJson(breaker.snapshot()));
    expect(again.state).toBe('half-open');
    expect(again.tryPass()).toBeDefined();
  });

  it('keeps what was counted, and what was held open by hand', () => {
    const { clock, breaker } = begin({ consecutiveFailures: 3, failureRatio: 0.9, windowCalls: 10, minCalls: 10 });
    make(breaker, 'ok');
    make(breaker, 'failed');
    make(breaker, 'failed');
    const again = circuitBreaker({ consecutiveFailures: 3, failureRatio: 0.9, windowCalls: 10, minCalls: 10, clock });
    again.restore(throughJson(breaker.snapshot()));
    expect(again.stats()).toEqual(breaker.stats());
    make(again, 'failed');
    expect(again.state).toBe('open');
    breaker.open();
    again.restore(throughJson(breaker.snapshot()));
    clock.advance(1e9);
    expect(again.stats()).toMatchObject({ state: 'open', isForced: true });
  });

  it('of a window by time is good for one by count, and the other way round', () => {
    const { clock, breaker: byTime } = begin({ failureRatio: 1, window: '1m', minCalls: 100 });
    for (const call of ['ok', 'failed', 'failed', 'ok', 'ok'] as const) make(byTime, call);
    const byCount = circuitBreaker({ failureRatio: 1, windowCalls: 100, clock });
    byCount.restore(throughJson(byTime.snapshot()));
    expect(byCount.stats()).toMatchObject({ calls: 5, failures: 2 });
    const back = circuitBreaker({ failureRatio: 1, window: '1m', minCalls: 100, clock });
    back.restore(byCount.snapshot());
    expect(back.stats()).toMatchObject({ calls: 5, failures: 2 });
    const small = circuitBreaker({ failureRatio: 1, windowCalls: 3, clock });
    small.restore(byTime.snapshot());
    expect(small.stats().calls).toBe(3);
    clock.advance(60_000);
    back.restore(byTime.snapshot());
    expect(back.stats().calls).toBe(0);
  });

  it('voids calls under way, and tells of the change', () => {
    const { breaker, changes } = begin({ consecutiveFailures: 1 });
    const { breaker: other } = opened();
    const under = breaker.tryPass()!;
    breaker.restore(other.snapshot());
    under.ok();
    expect(breaker.state).toBe('open');
    expect(changes).toEqual(['closed > open: restored']);
  });

  it('from a clock far ahead does not keep it open for longer than it may be', () => {
    const { breaker } = begin({ openForMax: 2000 });
    const { breaker: ahead, clock } = begin({ consecutiveFailures: 1 });
    clock.advance(1e12);
    make(ahead, 'failed');
    breaker.restore(ahead.snapshot());
    expect(breaker.retryAfterMs()).toBe(2000);
  });

  it('goes on with the rest of its time also when the clock steps back', () => {
    const { clock, breaker } = opened();
    clock.advance(400);
    const again = circuitBreaker({ clock });
    again.restore(breaker.snapshot());
    clock.set(-5000);
    expect(again.retryAfterMs()).toBe(600);
  });

  const good: CircuitBreakerSnapshot = {
    version: 1,
    state: 'open',
    isForced: false,
    untilMs: 5,
    reopenings: 0,
    consecutiveFailures: 0,
    votes: [1, 2, 1],
  };

  it.each([
    [null, 'version'],
    [{ ...good, version: 2 }, 'version'],
    [{ ...good, state: 'half-open' }, 'state'],
    [{ ...good, isForced: 1 }, 'isForced'],
    [{ ...good, state: 'closed', isForced: true }, 'isForced'],
    [{ ...good, untilMs: null }, 'untilMs'],
    [{ ...good, reopenings: -1 }, 'reopenings'],
    [{ ...good, consecutiveFailures: 0.5 }, 'consecutiveFailures'],
    [{ ...good, votes: {} }, 'votes'],
    [{ ...good, votes: [1, 2] }, 'votes'],
    [{ ...good, votes: [1, 2, 3] }, 'votes'],
    [{ ...good, votes: [2, 1, 1, 1, 1, 1] }, 'votes'],
    [{ ...good, votes: [Number.NaN, 1, 1] }, 'votes'],
  ])('that is none (%j) is refused, and changes nothing', (data, field) => {
    const { breaker } = begin();
    const error = caught(() => breaker.restore(data as CircuitBreakerSnapshot));
    expect(error).toMatchObject({ code: 'invalid-snapshot' });
    expect(error.message).toContain(`${field} of the snapshot must be`);
    expect(breaker.state).toBe('closed');
    breaker.restore(good);
    expect(breaker.state).toBe('open');
  });
});

describe('wrong options', () => {
  it.each([
    [{ failures: 5 }, 'circuitBreaker options has no field "failures"'],
    [{ name: 5 }, 'name must be a string, got 5'],
    [{ consecutiveFailures: 0 }, 'consecutiveFailures must be a whole number from 1'],
    [{ consecutiveFailures: 1.5 }, 'consecutiveFailures must be a whole number from 1'],
    [{ failureRatio: 0 }, 'failureRatio must be above 0 and at most 1, got 0'],
    [{ failureRatio: 50 }, 'failureRatio must be above 0 and at most 1, got 50'],
    [{ failureRatio: Number.NaN }, 'failureRatio must be above 0 and at most 1'],
    [{ failureRatio: '0.5' as never }, 'failureRatio must be above 0 and at most 1'],
    [{ openGrowth: '2' as never }, 'openGrowth must be a number of 1 or more'],
    [{ window: '10s' }, 'window must be given together with failureRatio'],
    [{ windowCalls: 10 }, 'windowCalls must be given together with failureRatio'],
    [{ minCalls: 10 }, 'minCalls must be given together with failureRatio'],
    [{ failureRatio: 0.5, windowCalls: 100_001 }, 'windowCalls must be a whole number from 1 to 100000'],
    [
      { failureRatio: 0.5, windowCalls: 5, minCalls: 6 },
      'minCalls must be at most windowCalls (5), got 6. It would never open.',
    ],
    [{ failureRatio: 0.5, minCalls: 0 }, 'minCalls must be a whole number from 1'],
    [{ failureRatio: 0.5, window: 0 }, 'window must be a time above 0'],
    [{ openFor: '0s' }, 'openFor must be a time above 0'],
    [{ openGrowth: 0.5 }, 'openGrowth must be a number of 1 or more'],
    [{ openGrowth: Number.POSITIVE_INFINITY }, 'openGrowth must be a number of 1 or more'],
    [{ openFor: '1m', openForMax: '1s' }, 'openForMax must be at least openFor (60000 ms)'],
    [{ jitter: 1.1 }, 'jitter must be a number from 0 to 1'],
    [{ probes: 0 }, 'probes must be a whole number from 1 to 10000'],
    [{ probeTimeout: -1 }, 'probeTimeout must be a time above 0'],
    [{ slowAfter: 'soon' }, 'slowAfter must be a time above 0'],
    [{ isFailure: true }, 'isFailure must be a function'],
    [{ isIgnored: 'no' }, 'isIgnored must be a function'],
    [{ random: 0.5 }, 'random must be a function'],
    [{ clock: Date }, 'clock must be an object with now() and sleep()'],
  ])('%j are refused', (options, message) => {
    const error = caught(() => circuitBreaker(options as CircuitBreakerOptions));
    expect(error).toMatchObject({ code: 'invalid-option' });
    expect(error.message).toContain(message);
  });
});

function raise(message: string): never {
  throw new Error(message);
}

function caught(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  return raise('It did not throw.');
}
