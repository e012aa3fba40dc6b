import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { inOneStore, ownOptions } from './own-options.ts';

const policy = fixedWindow({ limit: 100, window: '1m' });
const strict = fixedWindow({ limit: 5, window: '1m' });
const store = memoryStore();
const key = () => 'alice';
const subject = () => ({ user: 'alice' });
const list = [{ name: 'all', policy }];
const made = rules(list);

type Fields = Record<string, unknown>;

describe('options of its own', () => {
  it.each<[string, whole: Fields, own: Fields, together: Fields]>([
    ['say nothing: all is as for the whole', { policy, key, store }, {}, { policy, key, store }],
    ['undefined is not said', { policy, cost: 2 }, { cost: undefined, policy: undefined }, { policy, cost: 2 }],
    ['a cost is of the same budget', { policy, name: 'api' }, { cost: 9 }, { policy, name: 'api', cost: 9 }],
    [
      'a policy has a name of its own',
      { policy, name: 'api', key },
      { policy: strict },
      { policy: strict, name: 'GET /', key },
    ],
    ['or the one it says', { policy, name: 'api' }, { policy: strict, name: 'x' }, { policy: strict, name: 'x' }],
    ['a name counts apart', { policy, name: 'api' }, { name: 'x' }, { policy, name: 'x' }],
    [
      'a policy replaces rules',
      { rules: list, subject, store },
      { policy: strict },
      { policy: strict, name: 'GET /', store },
    ],
    ['rules replace a policy', { policy, name: 'x', key, store }, { rules: list }, { rules: list, store }],
    ['rules replace rules', { rules: [], subject, skip: key }, { rules: list }, { rules: list, subject, skip: key }],
    [
      'rules that are made have a store',
      { policy, store, shadow: true, cost: 2 },
      { rules: made },
      { rules: made, cost: 2 },
    ],
    [
      'what contradicts itself is left to be refused',
      { policy },
      { policy: strict, rules: list },
      { policy: strict, rules: list, name: 'GET /' },
    ],
  ])('%s', (_, whole, own, together) => {
    expect(ownOptions(whole as never, own as never, 'GET /')).toEqual(together);
  });

  it('are counted in the store of the whole', () => {
    const clock = new TestClock(5);
    const options = inOneStore({ policy, clock, maxKeys: 7 });
    expect(Object.keys(options)).toEqual(['policy', 'store']);
    expect((options as { store?: { clock: unknown } }).store?.clock).toBe(clock);
    expect(inOneStore({ policy, store, clock })).toEqual({ policy, store, clock });
    expect(inOneStore({ rules: made })).toEqual({ rules: made });
    expect(() => inOneStore({ policy, maxKeys: 0.5 })).toThrow('maxKeys must be');
  });
});
