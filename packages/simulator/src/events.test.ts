import { expect, test } from 'vitest';
import { eventLoop } from './events.ts';

test('events happen in the order of their times, equals in the order they were put in', async () => {
  const loop = eventLoop();
  const seen: string[] = [];
  const see = (name: string) => () => seen.push(`${name} at ${loop.nowMs}`);
  loop.at(30, see('d'));
  loop.at(10, see('a'));
  loop.at(10, see('b'));
  loop.at(10, see('c'));
  await loop.run();
  expect(seen).toEqual(['a at 10', 'b at 10', 'c at 10', 'd at 30']);
});

test('a run up to a time includes that time, and leaves the clock there', async () => {
  const loop = eventLoop({ startMs: 100 });
  const seen: number[] = [];
  for (const atMs of [110, 120, 121]) loop.at(atMs, () => seen.push(atMs));
  await loop.run(120);
  expect([seen, loop.nowMs]).toEqual([[110, 120], 120]);
  await loop.run(500);
  expect([seen, loop.nowMs]).toEqual([[110, 120, 121], 500]);
});

test('an event may bring about others, also at its own time', async () => {
  const loop = eventLoop();
  const seen: number[] = [];
  loop.at(5, () => {
    loop.at(5, () => seen.push(loop.nowMs));
    loop.at(8, () => seen.push(loop.nowMs));
  });
  await loop.run();
  expect(seen).toEqual([5, 8]);
});

test('what was called off does not happen, and no time passes for it', async () => {
  const loop = eventLoop();
  loop.at(5, () => {});
  loop.at(50, () => expect.unreachable())();
  await loop.run();
  expect(loop.nowMs).toBe(5);
});

test('everything that an event sets going comes to rest before the next', async () => {
  const loop = eventLoop();
  const seen: string[] = [];
  loop.at(1, async () => {
    for (let i = 0; i < 100; i += 1) await undefined;
    seen.push(`a hundred steps later, at ${loop.nowMs}`);
  });
  loop.at(1, () => seen.push('next'));
  await loop.run();
  expect(seen).toEqual(['a hundred steps later, at 1', 'next']);
});

test('an error of an action ends the run, also when it comes later', async () => {
  const thrown = eventLoop();
  thrown.at(1, () => {
    throw new Error('at once');
  });
  await expect(thrown.run()).rejects.toThrow('at once');

  const rejected = eventLoop();
  rejected.at(1, async () => {
    await undefined;
    throw new Error('a moment later');
  });
  rejected.at(2, () => expect.unreachable());
  await expect(rejected.run()).rejects.toThrow('a moment later');
});

test.each([9, Number.NaN, Number.POSITIVE_INFINITY])('refuses an event at %s', async (atMs) => {
  const loop = eventLoop({ startMs: 10 });
  expect(() => loop.at(atMs, () => {})).toThrow(`atMs must be a finite time from now (10) on, got ${atMs}.`);
});

test('a world that wakes itself for ever ends with an error', async () => {
  const loop = eventLoop({ maxEvents: 100 });
  const again = () => loop.at(loop.nowMs + 1, again);
  loop.at(0, again);
  await expect(loop.run()).rejects.toThrow('did not end within 100 events');
});

test('only one run at a time', async () => {
  const loop = eventLoop();
  const first = loop.run();
  await expect(loop.run()).rejects.toThrow('running already');
  await first;
  await loop.run();
});

test('the same seed twice gives the identical history, another seed another', async () => {
  async function history(seed: number): Promise<string[]> {
    const loop = eventLoop({ seed });
    const seen: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { exponential } = loop.random.fork();
      const arrive = () => {
        seen.push(`${name} at ${loop.nowMs}`);
        loop.at(loop.nowMs + exponential(10), arrive);
      };
      loop.at(0, arrive);
    }
    await loop.run(1000);
    return seen;
  }
  const first = await history(5);
  expect(first.length).toBeGreaterThan(200);
  expect(await history(5)).toEqual(first);
  expect(await history(6)).not.toEqual(first);
});

test('somebody may be told of every event before it happens, and end the run', async () => {
  const told: number[] = [];
  const happened: number[] = [];
  const loop = eventLoop({
    onEvent(atMs) {
      told.push(atMs);
      if (atMs === 3) throw new Error('enough');
    },
  });
  for (const atMs of [1, 2, 3, 4]) loop.at(atMs, () => happened.push(atMs));
  await expect(loop.run()).rejects.toThrow('enough');
  expect([told, happened]).toEqual([
    [1, 2, 3],
    [1, 2],
  ]);
});
