import { describe, expect, it, vi } from 'vitest';
import { withGetters } from './getters.ts';

interface Counter {
  readonly count: number;
  add(): void;
}

function counter(): Counter {
  let count = 0;
  const methods: Omit<Counter, 'count'> = {
    add() {
      count += 1;
    },
  };
  return withGetters<Counter, 'count'>(methods, { count: () => count });
}

describe('fields that are worked out when they are read', () => {
  it('are each object’s own', () => {
    const one = counter();
    const other = counter();
    one.add();
    expect([one.count, other.count]).toEqual([1, 0]);
    one.add();
    expect([one.count, other.count]).toEqual([2, 0]);
  });

  it('are seen by whoever copies or lists the object, and nothing else is', () => {
    const one = counter();
    one.add();
    expect({ ...one }).toEqual({ add: one.add, count: 1 });
    expect(Object.keys(one)).toEqual(['add', 'count']);
    expect(JSON.stringify(one)).toBe('{"count":1}');
    expect(Object.create(one).count).toBe(1);
  });

  it('cannot be written to, and can be replaced in a test', () => {
    const one = counter();
    expect(() => Object.assign(one, { count: 5 })).toThrow(TypeError);
    vi.spyOn(one, 'count', 'get').mockReturnValue(7);
    expect(one.count).toBe(7);
  });
});
