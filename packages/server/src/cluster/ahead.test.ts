import { slotOf } from 'sluice/client';
import { expect, test } from 'vitest';
import { Ahead } from './ahead.ts';

type Step = [name: string, key: string, cost: number];

/** What a link has of it: the message under way, and the next one. */
function link() {
  let told: Step[] = [];
  let untold: Step[] = [];
  const ahead = new Ahead(
    (visit) => {
      for (const step of told) visit(...step);
    },
    (visit) => {
      for (const step of untold) visit(...step);
    },
  );
  const add = (name: string, key: string, cost: number) => {
    untold.push([name, key, cost]);
    return ahead.add(name, key, cost);
  };
  const tell = () => {
    told = untold;
    untold = [];
    ahead.tell();
  };
  const confirm = () => {
    told = [];
    ahead.confirm();
  };
  return { ahead, add, tell, confirm };
}

test('a key is ahead by what was carried out and not confirmed, whatever others are', () => {
  const { ahead, add } = link();
  add('api', 'ann', 2);
  add('api', 'ann', 3);
  add('api', 'bob', 1);
  add('login', 'ann', 1);
  expect([ahead.of('api', 'ann'), ahead.of('api', 'bob'), ahead.of('login', 'ann')]).toEqual([5, 1, 1]);
  expect(ahead.of('login', 'bob')).toBe(0);
});

test.each(['from the start', 'only then'])('a confirmation is of what was told, exactly: known by key %s', (since) => {
  const { ahead, add, tell, confirm } = link();
  if (since === 'from the start') ahead.countByKey();
  add('api', 'ann', 2);
  if (since === 'from the start') expect(ahead.of('api', 'ann')).toBe(2);
  tell();
  add('api', 'ann', 3);
  expect(ahead.of('api', 'ann')).toBe(5);
  confirm();
  expect(ahead.of('api', 'ann')).toBe(3);
  tell();
  confirm();
  expect(ahead.of('api', 'ann')).toBe(0);
});

test('a key is never further ahead than its slot is said to be, of several keys, names, messages and parts of a unit', () => {
  const { ahead, add, tell, confirm } = link();
  for (let i = 0; i < 2000; i += 1) {
    const [name, key] = [`name-${i % 3}`, `key-${(i * 7) % 97}`];
    const most = add(name, key, ((i % 5) + 1) / 3);
    expect(most).toBeGreaterThanOrEqual(ahead.of(name, key));
    if (i % 40 === 20) tell();
    else if (i % 40 === 39) confirm();
  }
});

test('keys of other slots say nothing of a key', () => {
  const { add } = link();
  const others = Array.from({ length: 100 }, (_, i) => `key-${i}`).filter(
    (key) => slotOf(key) % 64 !== slotOf('ann') % 64,
  );
  for (const key of others) add('api', key, 1);
  expect(add('api', 'ann', 1)).toBe(1);
});

test('what a slot could not hold exactly beside it is looked at by key', () => {
  const { ahead, add } = link();
  expect(add('api', 'ann', 2 ** 50)).toBe(Number.POSITIVE_INFINITY);
  expect(add('login', 'ann', 0.1)).toBe(Number.POSITIVE_INFINITY);
  expect([ahead.of('api', 'ann'), ahead.of('login', 'ann')]).toEqual([2 ** 50, 0.1]);
});

test('what can no longer be recounted is counted by key', () => {
  const { ahead, add } = link();
  add('api', 'ann', 2);
  ahead.countByKey();
  ahead.add('api', 'ann', 3);
  expect(ahead.of('api', 'ann')).toBe(5);
});
