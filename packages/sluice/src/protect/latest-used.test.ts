import { describe, expect, it } from 'vitest';
import { LatestUsed } from './latest-used.ts';

interface Thing {
  readonly key: string;
  isIdle: boolean;
}

function begin(maxKeys: number) {
  const things = new LatestUsed<Thing>(
    maxKeys,
    (key) => ({ key, isIdle: true }),
    ({ isIdle }) => isIdle,
  );
  const keys = () => [...things.entries()].map(([key]) => key).join(' ');
  return { things, keys };
}

describe('something per key', () => {
  it('is the same for the same key', () => {
    const { things } = begin(2);
    expect(things.get('a')).toBe(things.get('a'));
    expect(things.get('a')).not.toBe(things.get('b'));
    expect(things.peek('c')).toBeUndefined();
    expect(things.size).toBe(2);
  });

  it('leaves room for newcomers: the one not used for longest goes', () => {
    const { things, keys } = begin(3);
    for (const key of ['a', 'b', 'c', 'a', 'd']) things.get(key);
    expect(keys()).toBe('c a d');
  });

  it('stays while it is busy, if another is not', () => {
    const { things, keys } = begin(3);
    for (const key of ['a', 'b', 'c']) things.get(key).isIdle = key === 'c';
    things.get('d').isIdle = false;
    expect(keys()).toBe('a b d');
  });

  it('goes even so when all are busy: there are never more than fit', () => {
    const { things, keys } = begin(2);
    for (const key of ['a', 'b', 'c', 'd']) things.get(key).isIdle = false;
    expect(keys()).toBe('c d');
  });

  it('is not used by being looked at', () => {
    const { things, keys } = begin(2);
    things.get('a');
    things.get('b');
    things.peek('a');
    things.get('c');
    expect(keys()).toBe('b c');
  });
});
