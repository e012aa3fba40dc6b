import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import { Deadlines } from './deadlines.ts';

/** Everything that is ready to run has run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

function begin(afterMs = 20, clock = new TestClock()) {
  const deadlines = new Deadlines(clock, afterMs);
  const late: unknown[] = [];
  function call() {
    const outcome: { is?: unknown; error?: unknown } = {};
    let answer = (_value: unknown) => {};
    let fail = (_error: unknown) => {};
    const promise = new Promise((resolve, reject) => {
      answer = resolve;
      fail = reject;
    });
    deadlines
      .within(
        promise,
        () => 'too late',
        (value) => late.push(value),
      )
      .then(
        (value) => {
          outcome.is = value;
        },
        (error) => {
          outcome.error = error;
        },
      );
    return { outcome, answer, fail };
  }
  return { clock, call, late };
}

describe('a deadline', () => {
  it('does not matter to an answer in time', async () => {
    const { clock, call, late } = begin();
    const one = call();
    clock.advance(19);
    one.answer('yes');
    await settled();
    expect(one.outcome).toEqual({ is: 'yes' });
    clock.advance(100);
    await settled();
    expect(late).toEqual([]);
  });

  it('hands on a failure in time', async () => {
    const { call } = begin();
    const one = call();
    one.fail('broken');
    await settled();
    expect(one.outcome).toEqual({ error: 'broken' });
  });

  it('ends a call exactly when its time is up, and reads what comes later', async () => {
    const { clock, call, late } = begin();
    const [answered, failed] = [call(), call()];
    clock.advance(19);
    await settled();
    expect(answered.outcome).toEqual({});
    clock.advance(1);
    await settled();
    expect(answered.outcome).toEqual({ error: 'too late' });
    expect(failed.outcome).toEqual({ error: 'too late' });
    answered.answer('yes, after all');
    failed.fail('broken');
    await settled();
    expect(late).toEqual(['yes, after all', undefined]);
  });

  it('has one alarm for all calls, and none when there are none', async () => {
    const { clock, call } = begin();
    const calls = Array.from({ length: 100 }, call);
    await settled();
    expect(clock.sleeping).toBe(1);
    for (const one of calls) one.answer('yes');
    await settled();
    expect(clock.sleeping).toBe(0);
    const next = call();
    await settled();
    expect(clock.sleeping).toBe(1);
    clock.advance(20);
    await settled();
    expect(next.outcome).toEqual({ error: 'too late' });
    expect(clock.sleeping).toBe(0);
  });

  it("is each call's own", async () => {
    const { clock, call } = begin();
    const first = call();
    clock.advance(5);
    const second = call();
    clock.advance(5);
    const third = call();
    await settled();
    clock.advance(10);
    await settled();
    expect([first.outcome, second.outcome]).toEqual([{ error: 'too late' }, {}]);
    second.answer('in time');
    await settled();
    clock.advance(9);
    await settled();
    expect([second.outcome, third.outcome]).toEqual([{ is: 'in time' }, {}]);
    clock.advance(1);
    await settled();
    expect(third.outcome).toEqual({ error: 'too late' });
  });

  it('of a call that begins right after the last was answered is watched', async () => {
    const { clock, call } = begin();
    const first = call();
    await settled();
    first.answer('yes');
    // The alarm is being switched off just now.
    await Promise.resolve();
    const second = call();
    await settled();
    clock.advance(20);
    await settled();
    expect(second.outcome).toEqual({ error: 'too late' });
  });

  it('is not the fault of a store whose answer waits while this process stands still', async () => {
    const { clock, call } = begin();
    const one = call();
    const silent = call();
    await settled();
    // The process stood still for a second. The answer is there, behind the timer.
    clock.advance(1000);
    setTimeout(() => one.answer('was there long ago'), 0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(one.outcome).toEqual({ is: 'was there long ago' });
    expect(silent.outcome).toEqual({ error: 'too late' });
  });

  it('starts again when the clock steps back', async () => {
    const { clock, call } = begin();
    const one = call();
    await settled();
    clock.set(-3_600_000);
    const two = call();
    two.answer('yes');
    await settled();
    // The alarm is set by the clock of before; it rings when that is reached, or a real clock's timer ends.
    clock.set(20);
    await settled();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(one.outcome).toEqual({ error: 'too late' });
  });

  it('starts again by a clock whose timers run on while its time steps back', async () => {
    let offsetMs = 0;
    const inner = new TestClock();
    const clock: Clock = { now: () => inner.now() + offsetMs, sleep: (ms, signal) => inner.sleep(ms, signal) };
    const { call } = begin(20, clock as TestClock);
    const one = call();
    await settled();
    offsetMs = -3_600_000;
    inner.advance(20);
    await settled();
    expect(one.outcome).toEqual({});
    inner.advance(20);
    await settled();
    expect(one.outcome).toEqual({ error: 'too late' });
  });
});
