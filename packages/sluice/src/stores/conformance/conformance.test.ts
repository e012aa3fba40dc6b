import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { memoryStore } from '../memory/memory-store.ts';
import type { Store } from '../store.ts';
import { conformance } from './conformance.ts';

describe('the memory store', () => {
  for (const { name, run } of conformance) it(name, () => run(({ clock }) => memoryStore({ clock })));
});

describe('the memory store with fingerprints for keys', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => memoryStore({ clock, keys: 'fingerprint' })));
});

describe('a memory store that remembers no recent keys', () => {
  for (const { name, run } of conformance)
    it(name, () => run(({ clock }) => memoryStore({ clock, recentKeys: false })));
});

describe('the suite itself', () => {
  /** How many of the tests a broken store fails. */
  async function failures(broken: (store: Store<'sync'>) => Store<'sync'>): Promise<number> {
    const outcomes = await Promise.allSettled(
      conformance.map(({ run }) => run(({ clock }) => broken(memoryStore({ clock })))),
    );
    return outcomes.filter(({ status }) => status === 'rejected').length;
  }

  it('passes a store that answers later', async () => {
    for (const { run } of conformance) {
      await run(({ clock }) => {
        const store = memoryStore({ clock });
        return { mode: 'async', clock, apply: async (checks, atMs) => store.apply(checks, atMs) };
      });
    }
  });

  it('fails a store that checks one by one and leaks', async () => {
    const broken = await failures((store) => ({
      ...store,
      apply: (checks, atMs) => checks.flatMap((check) => store.apply([check], atMs)),
    }));
    expect(broken).toBeGreaterThanOrEqual(3);
  });

  it('fails a store that is one millisecond early', async () => {
    const broken = await failures((store) => ({
      ...store,
      apply: (checks, atMs) => store.apply(checks, (atMs ?? 0) + 1),
    }));
    expect(broken).toBeGreaterThanOrEqual(5);
  });

  it('fails a store that has one algorithm for all', async () => {
    const one = fixedWindow({ limit: 3, window: 1000 });
    const broken = await failures((store) => ({
      ...store,
      apply: (checks, atMs) =>
        store.apply(
          checks.map((check) => ({ ...check, policy: one })),
          atMs,
        ),
    }));
    expect(broken).toBeGreaterThanOrEqual(10);
  });
});
