import { expect, test } from 'vitest';
import { heldList } from './held-list.ts';

const refused = (key: string, refusals: number) => ({ rule: 'per-user', key, refusals, error: 0 });

test('a list that is held keeps its order and its rows, and counts on', () => {
  const held = [refused('ann', 5), refused('bob', 4), refused('carl', 1)];
  const latest = [refused('bob', 9), refused('ann', 6), refused('dora', 3)];
  expect(heldList(held, latest)).toEqual([refused('ann', 6), refused('bob', 9), refused('carl', 1)]);
});

test('a key of one rule is not that of another', () => {
  const held = [{ ...refused('b c', 1), rule: 'a' }];
  expect(heldList(held, [{ ...refused('c', 2), rule: 'a b' }])).toEqual(held);
});
