import { describe, expect, expectTypeOf, it } from 'vitest';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { limiter } from '../limit/limiter.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Store } from '../stores/store.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Mode } from '../vocabulary/answer.ts';
import { degrade } from './degrade/degrade.ts';
import { denyCache } from './deny-cache/deny-cache.ts';
import { remoteStore } from './late-store.test-support.ts';
import { type Layer, layered } from './layered.ts';
import { preLimit } from './pre-limit/pre-limit.ts';

const policy = gcra({ limit: 3, window: '1s' });

/** A layer that says when it is asked. */
function speaking(name: string, said: string[]): Layer {
  return (store) => ({
    mode: store.mode,
    clock: store.clock,
    apply(checks, atMs, requestId) {
      said.push(`${name} ${atMs} ${requestId}`);
      return store.apply(checks, atMs, requestId);
    },
  });
}

describe('layered', () => {
  it('asks the last layer first', () => {
    const said: string[] = [];
    const store = layered(memoryStore(), speaking('inner', said), speaking('outer', said));
    void store.apply([{ name: 'test', key: 'key', policy, cost: 1 }], 5, 'request-1');
    expect(said).toEqual(['outer 5 request-1', 'inner 5 request-1']);
  });

  it('without layers is the store itself', () => {
    const store = memoryStore();
    expect(layered(store)).toBe(store);
  });

  it('every layer of ours hands on the time and the id, keeps the clock, and offers no short way past itself', () => {
    for (const layer of [denyCache(), preLimit({ policy }), degrade()]) {
      const said: string[] = [];
      const clock = new TestClock();
      const inner = memoryStore({ clock });
      const spoken: Store<'sync'> = {
        ...inner,
        apply(checks, atMs, requestId) {
          said.push(`${atMs} ${requestId}`);
          return inner.apply(checks, atMs);
        },
      };
      const store = layered(spoken, layer);
      store.apply([{ name: 'test', key: 'key', policy, cost: 1 }], 5, 'request-1');
      expect(said).toEqual(['5 request-1']);
      expect(store).toMatchObject({ mode: 'sync', clock });
      expect(store.direct).toBeUndefined();
    }
  });

  it('answers as the store does, and the types know it', async () => {
    const layers = () => [denyCache(), preLimit({ policy }), degrade()] as const;
    const sync = layered(memoryStore(), ...layers());
    expectTypeOf(sync).toEqualTypeOf<Store<'sync'>>();
    expect(limiter(policy, { store: sync }).check('key').allowed).toBe(true);
    const later = layered(remoteStore(new TestClock()), ...layers());
    expectTypeOf(later).toEqualTypeOf<Store<'async'>>();
    expect((await limiter(policy, { store: later, name: 'api' }).check('key')).allowed).toBe(true);
    const unknown: Layer = (store) => store;
    expectTypeOf(layered(memoryStore(), unknown)).toEqualTypeOf<Store<Mode>>();
    const slow = (store: Store): Store<'async'> => ({
      mode: 'async',
      clock: store.clock,
      apply: async (checks, atMs) => store.apply(checks, atMs),
    });
    expectTypeOf(layered(memoryStore(), denyCache(), slow, degrade())).toEqualTypeOf<Store<'async'>>();
  });

  it('refuses what is no store and what is no layer', () => {
    expect(() => layered({} as Store)).toThrow('store must be a store such as memoryStore()');
    expect(() => layered(undefined as unknown as Store)).toThrow('store must be a store such as memoryStore()');
    // Not called: a function too has an `apply`.
    expect(() => layered(memoryStore as unknown as Store)).toThrow('store must be a store such as memoryStore()');
    expect(() => layered(memoryStore(), {} as Layer)).toThrow('a layer must be a function such as denyCache() gives');
    expect(() => denyCache()(undefined as unknown as Store)).toThrow('store must be a store such as memoryStore()');
  });
});
