import { TestClock } from 'sluice/testing';
import { expect, it } from 'vitest';
import { watchRoom } from './room-watch.ts';

it('says once in a while how many were refused since the start, and nothing while nobody is', async () => {
  const clock = new TestClock(0);
  const said: unknown[] = [];
  const silent = () => undefined;
  let refused = 7;
  const watch = watchRoom(
    [{ stats: () => ({ refusedNewcomers: refused }) }],
    { debug: silent, info: silent, warn: (fields) => said.push(fields), error: silent },
    clock,
  );
  const second = async () => {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await second();
  expect(said).toEqual([]);
  for (refused = 8; refused < 18; refused += 1) await second();
  expect(said).toEqual([{ refused: 1 }]);
  for (let i = 0; i < 60; i += 1) await second();
  expect(said).toHaveLength(1);
  refused = 20;
  await second();
  expect(said).toEqual([{ refused: 1 }, { refused: 13, leftOut: 10 }]);
  watch.end();
  refused = 30;
  for (let i = 0; i < 60; i += 1) await second();
  expect(said).toHaveLength(2);
});
