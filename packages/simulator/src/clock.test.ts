import { gcra, leakyBucket, limiter } from 'sluice';
import { expect, test } from 'vitest';
import { simulatedClock } from './clock.ts';
import { type EventLoop, eventLoop } from './events.ts';

/** When each of those who asked at the given times was let go. */
async function departures(loop: EventLoop, arrivalsMs: number[], wait: () => Promise<unknown>): Promise<number[]> {
  const wentMs: number[] = [];
  for (const atMs of arrivalsMs) {
    loop.at(atMs, async () => {
      await wait();
      wentMs.push(loop.nowMs);
    });
  }
  await loop.run();
  return wentMs;
}

test('callers of wait go one by one in simulated time', async () => {
  const loop = eventLoop();
  const limit = limiter(gcra({ limit: 1, window: '1h', burst: 1 }), { clock: simulatedClock(loop) });
  const wentMs = await departures(loop, [0, 0, 0, 10, 20], () => limit.wait('key'));
  expect(wentMs).toEqual([0, 1, 2, 3, 4].map((hours) => hours * 3_600_000));
});

test('a shaped delay is waited for in simulated time', async () => {
  const loop = eventLoop();
  const limit = limiter(leakyBucket({ limit: 1, window: '1s', burst: 2 }), { clock: simulatedClock(loop) });
  expect(await departures(loop, [0, 0, 0], () => limit.wait('key'))).toEqual([0, 1000, 2000]);
});

test('a wait that is given up ends when the signal says so', async () => {
  const loop = eventLoop();
  const clock = simulatedClock(loop);
  const limit = limiter(gcra({ limit: 1, window: '1h', burst: 1 }), { clock });
  const over = new AbortController();
  const answers: string[] = [];
  const ask = async (name: string, signal?: AbortSignal) => {
    const answer = await limit.wait('key', { ...(signal && { signal }) }).then(
      () => 'went',
      () => 'gave up',
    );
    answers.push(`${name} ${answer} at ${loop.nowMs}`);
  };
  loop.at(0, () => ask('a'));
  loop.at(1, () => ask('b', over.signal));
  loop.at(2, () => ask('c', over.signal));
  loop.at(500, () => over.abort());
  await loop.run();
  // In which order those who give up together do so is nobody's business.
  expect(answers.sort()).toEqual(['a went at 0', 'b gave up at 500', 'c gave up at 500']);
  // The sleeps that were given up have left nothing behind.
  expect(loop.nowMs).toBe(500);
});

test('sleeping for no time is over at once, and sleeping for ever does not keep the run from ending', async () => {
  const loop = eventLoop({ startMs: 7 });
  const clock = simulatedClock(loop);
  await clock.sleep(0);
  const forEver = clock.sleep(Number.POSITIVE_INFINITY).then(() => expect.unreachable());
  await loop.run();
  expect(clock.now()).toBe(7);
  expect(forEver).toBeInstanceOf(Promise);
});

test('a signal that is aborted already is not slept for', async () => {
  const clock = simulatedClock(eventLoop());
  await expect(clock.sleep(10, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
});
