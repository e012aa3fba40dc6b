import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { limiter } from '../limit/limiter.ts';
import { rules } from '../limit/rules.ts';
import { TestClock } from '../testing/test-clock.ts';
import { memoryStore } from './memory/memory-store.ts';
import { sharedMemoryStore } from './shared-memory/shared-memory-store.ts';
import type { Store } from './store.ts';

const policy = fixedWindow({ limit: 3, window: '1h' });

const makers: readonly [string, () => Store<'sync'> | undefined][] = [
  ['a store of its own', () => undefined],
  ['a memory store', () => memoryStore({ clock: new TestClock(0) })],
  ['a shared memory store', () => sharedMemoryStore({ maxKeys: 100 })],
];

describe.each(makers)('with %s', (_, make) => {
  const options = () => {
    const store = make();
    return store ? { store } : {};
  };

  it('gives a request that is made again the same answer, and counts it once', () => {
    const limit = limiter(policy, options());
    const first = limit.check('a', { requestId: 'r1' });
    expect(limit.check('a', { requestId: 'r1' })).toEqual(first);
    expect(limit.check('a').remaining).toBe(1);
  });

  it('remembers refusals too', () => {
    const limit = limiter(policy, options());
    limit.check('a', 3);
    expect(limit.check('a', { requestId: 'r1' }).allowed).toBe(false);
    limit.reset('a');
    expect(limit.check('a', { requestId: 'r1' }).allowed).toBe(false);
    expect(limit.check('a', { requestId: 'r2' }).allowed).toBe(true);
  });

  it('takes the same id about another key for another request', () => {
    const limit = limiter(policy, options());
    limit.check('a', { requestId: 'r1', cost: 3 });
    expect(limit.check('b', { requestId: 'r1' }).remaining).toBe(2);
  });
});

it('forgets an answer after a minute', () => {
  const clock = new TestClock(0);
  const limit = limiter(policy, { clock });
  limit.check('a', { requestId: 'r1' });
  clock.advance(59_999);
  expect(limit.check('a', { requestId: 'r1' }).remaining).toBe(2);
  clock.advance(1);
  expect(limit.check('a', { requestId: 'r1' }).remaining).toBe(1);
});

it('forgets the oldest when there are too many', () => {
  const limit = limiter(fixedWindow({ limit: 1_000_000, window: '1h' }), { clock: new TestClock(0) });
  for (let i = 0; i < 100_001; i += 1) limit.check('a', { requestId: `r${i}` });
  expect(limit.check('a', { requestId: 'r0' }).remaining).toBe(1_000_000 - 100_002);
  expect(limit.check('a', { requestId: 'r100000' }).remaining).toBe(1_000_000 - 100_001);
});

it('tells requests of one id apart, also after it was used for another', () => {
  const clock = new TestClock(0);
  const limit = limiter(policy, { clock });
  expect(limit.check('a', { requestId: 'r1' }).remaining).toBe(2);
  clock.advance(30_000);
  expect(limit.check('b', { requestId: 'r1', cost: 2 }).remaining).toBe(1);
  expect(limit.check('b', { requestId: 'r1', cost: 1 }).remaining).toBe(0);
  clock.advance(30_000);
  // The first is forgotten, the others are not.
  expect(limit.check('b', { requestId: 'r1', cost: 2 }).remaining).toBe(1);
  expect(limit.check('b', { requestId: 'r1', cost: 1 }).remaining).toBe(0);
  expect(limit.check('a', { requestId: 'r1' }).remaining).toBe(1);
});

it('holds for a request of many rules', () => {
  const guard = rules([{ name: 'all', policy }]);
  guard.check({}, { requestId: 'r1' });
  guard.check({}, { requestId: 'r1' });
  expect(guard.check({}).tightest?.remaining).toBe(1);
});

it.each([
  ['cancelled twice', 0, 0],
  ['cancelled, and then committed', 0, 1],
  ['committed, and then cancelled', 1, 0],
])('settles a reservation once that was made twice: %s', (_, first, second) => {
  const guard = rules([{ name: 'all', policy }]);
  const one = guard.reserve({}, { cost: 2, requestId: 'r1' });
  const again = guard.reserve({}, { cost: 2, requestId: 'r1' });
  guard.check({});
  one.commit(first);
  again.commit(second);
  expect(guard.peek({}, { cost: 0 }).tightest?.remaining).toBe(2 - first);
});

it('names a request id that is none', () => {
  expect(() => limiter(policy).check('a', { requestId: '' })).toThrow('requestId must be a text, got ""');
});
