import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../limit/limiter.ts';
import { rules } from '../limit/rules.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { TestClock } from '../testing/test-clock.ts';
import { monotonicClock } from './clock.ts';
import { tickClock } from './tick-clock.ts';

/** The end of this turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function begin(nowMs = 1000) {
  const clock = new TestClock(nowMs);
  let readings = 0;
  const counting = {
    now() {
      readings += 1;
      return clock.now();
    },
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  };
  return { clock, counting, ticks: tickClock(counting), readings: () => readings };
}

describe('tickClock', () => {
  it('reads the time once for the calls of one turn', async () => {
    const { clock, ticks, readings } = begin();
    expect(ticks.recent!()).toBe(1000);
    clock.advance(5);
    expect([ticks.recent!(), ticks.recent!()]).toEqual([1000, 1000]);
    await Promise.resolve();
    expect(ticks.recent!()).toBe(1000);
    expect(readings()).toBe(1);
    await turn();
    expect([ticks.recent!(), ticks.recent!()]).toEqual([1005, 1005]);
    expect(readings()).toBe(2);
  });

  it('reads it again after 64 calls of a turn that does not end', async () => {
    const { clock, ticks, readings } = begin();
    for (let reading = 1; reading <= 3; reading += 1) {
      for (let call = 0; call < 64; call += 1) {
        expect(ticks.recent!()).toBe(999 + reading);
        expect(readings()).toBe(reading);
        if (call === 0) clock.advance(1);
      }
    }
    await turn();
    ticks.recent!();
    expect(readings()).toBe(4);
  });

  it('reads it anew in each of many turns, however few calls they have', async () => {
    const { clock, ticks } = begin();
    for (let i = 0; i < 5; i += 1) {
      expect(ticks.recent!()).toBe(1000 + i);
      clock.advance(1);
      await turn();
    }
  });

  it('tells the exact time to whoever asks for it, and is not behind it afterwards', () => {
    const { clock, ticks } = begin();
    ticks.recent!();
    clock.advance(5);
    expect(ticks.now()).toBe(1005);
    expect(ticks.recent!()).toBe(1005);
  });

  it('is the monotonic clock unless told another', () => {
    const before = monotonicClock.now();
    const ticks = tickClock();
    expect(ticks.now()).toBeGreaterThanOrEqual(before);
    expect(ticks.recent!()).toBeGreaterThanOrEqual(before);
    expect(ticks.recent!()).toBeLessThanOrEqual(monotonicClock.now());
  });

  it('sleeps and wakes by the clock it reads, and is as stale as that says', async () => {
    const { clock, ticks } = begin();
    const asleep = ticks.sleep(10);
    expect(clock.sleeping).toBe(1);
    clock.advance(10);
    await asleep;
    const stop = new AbortController();
    const aborted = ticks.sleep(10, stop.signal);
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect(ticks).not.toHaveProperty('stalenessMs');
    expect(tickClock(Object.assign(new TestClock(), { stalenessMs: 50 })).stalenessMs).toBe(50);
  });
});

describe('a limit by a clock read once per turn', () => {
  it('that is strict reads the exact time', () => {
    const { clock, ticks } = begin();
    const limit = limiter(slidingLog({ limit: 1, window: 100 }), { clock: ticks });
    // Another limit has a reading taken in this turn.
    limiter(gcra({ limit: 1, window: 100 }), { clock: ticks }).check('key');
    expect(limit.check('key').allowed).toBe(true);
    clock.advance(60);
    expect(limit.check('key').retryAfterMs).toBe(40);
    clock.advance(40);
    expect(limit.allow('key')).toBe(true);
  });

  it('that is not strict takes the recent reading, and the next in the next turn', async () => {
    const { clock, ticks, readings } = begin();
    const limit = limiter(gcra({ limit: 1, window: 100 }), { clock: ticks });
    limit.check('key');
    const before = readings();
    clock.advance(100);
    expect(limit.check('key')).toMatchObject({ allowed: false, retryAfterMs: 100 });
    expect(limit.allow('key')).toBe(false);
    expect(readings()).toBe(before);
    await turn();
    expect(limit.check('key').allowed).toBe(true);
  });

  it('reads the exact time for what is no plain check', () => {
    const { clock, ticks } = begin();
    const limit = limiter(gcra({ limit: 1, window: 100 }), { clock: ticks });
    limit.check('key');
    clock.advance(60);
    expect(limit.peek('key').retryAfterMs).toBe(40);
  });

  it('holds for batches: recent where no rule is strict, exact where one is', () => {
    for (const [policy, retryAfterMs] of [
      [fixedWindow({ limit: 1, window: 100, align: 'first' }), 100],
      [slidingLog({ limit: 1, window: 100 }), 40],
    ] as const) {
      const { clock, ticks } = begin();
      const limits = rules(
        [
          { name: 'loose', key: 'user', policy: gcra({ limit: 1, window: 100 }) },
          { name: 'other', key: 'user', policy },
        ],
        { store: memoryStore({ clock: ticks }) },
      );
      expect(limits.check({ user: 'a' }).allowed).toBe(true);
      clock.advance(60);
      const { decisions } = limits.check({ user: 'a' });
      expect(decisions.map((decision) => decision.retryAfterMs)).toEqual([retryAfterMs, retryAfterMs]);
    }
  });

  it('grants nothing by an old reading after the clock has thrown', async () => {
    const { clock, counting } = begin();
    let isBroken = false;
    const ticks = tickClock({
      ...counting,
      now() {
        if (isBroken) throw new Error('no time');
        return counting.now();
      },
    });
    const limit = limiter(gcra({ limit: 2, window: 100 }), { clock: ticks });
    clock.advance(1000);
    isBroken = true;
    expect(() => limit.allow('key')).toThrow('no time');
    isBroken = false;
    expect([1, 2, 3].map(() => limit.allow('key'))).toEqual([true, true, false]);
    await turn();
    expect(limit.allow('key')).toBe(false);
  });

  it('grants at most what it may over a time longer by the turn', async () => {
    const { clock, ticks } = begin();
    const limit = limiter(gcra({ limit: 10, window: 100 }), { clock: ticks });
    let granted = 0;
    for (let i = 0; i < 100; i += 1) {
      for (let call = 0; call < 5; call += 1) {
        if (limit.allow('key')) granted += 1;
        clock.advance(1);
      }
      await turn();
    }
    expect(granted).toBeLessThanOrEqual(10 + 500 / 10);
    expect(granted).toBeGreaterThanOrEqual(500 / 10);
  });
});
