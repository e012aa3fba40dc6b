import { slidingSlots } from 'sluice';
import { describe, expect, test } from 'vitest';
import { DoneOnce, onceOf } from './done-once.ts';
import { allFences } from './fences.ts';
import { type OwnedCheck, OwnedPolicies } from './owned-policy.ts';

const policies = new OwnedPolicies({ graceMs: 10, unreplicated: 0, durableFromMs: 3_600_000 }, allFences);
const policy = slidingSlots({ limit: 10, window: 1000 });

const checkOf = (more: Partial<OwnedCheck> = {}): OwnedCheck => ({
  ...policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 4 }, 'id'),
  operation: 'settle',
  receipt: [7],
  ...more,
});

function having(check: OwnedCheck): DoneOnce {
  const done = new DoneOnce();
  done.add(check, 0);
  return done;
}

describe('what a request did', () => {
  test.each(['settle', 'reward', 'reset', 'penalize', 'block'] as const)('by %s is known by its id', (operation) => {
    const done = having(checkOf({ operation }));
    expect(done.has(checkOf({ operation }), 1)).toBe(true);
    expect(done.has(checkOf({ operation, once: 'another' }), 1)).toBe(false);
    expect(done.has(checkOf({ operation, once: undefined }), 1)).toBe(false);
  });

  test.each([{ name: 'other' }, { key: 'other' }, { cost: 3 }, { receipt: [8] }, { operation: 'reward' } as const])(
    'is not taken for something else of the same id (%j)',
    (more) => {
      expect(having(checkOf()).has(checkOf(more), 1)).toBe(false);
    },
  );

  test('by settling is known whatever was really used', () => {
    expect(having(checkOf({ actual: 3 })).has(checkOf({ actual: 0 }), 1)).toBe(true);
  });

  test('is forgotten after a while, and not before it might be settled otherwise', () => {
    expect(having(checkOf()).has(checkOf(), 9999)).toBe(true);
    expect(having(checkOf()).has(checkOf(), 10_000)).toBe(false);
    const open = having(checkOf({ durationMs: 600_000 }));
    for (let i = 0; i < 100; i += 1) open.add(checkOf({ once: `of ${i}` }), i);
    expect(open.has(checkOf(), 609_999)).toBe(true);
    expect(open.has(checkOf(), 610_000)).toBe(false);
  });

  test('goes along when it is saved, but for what no longer matters', () => {
    const done = having(checkOf());
    done.add(checkOf({ once: 'later' }), 5000);
    const next = new DoneOnce(JSON.parse(JSON.stringify(done.save(10_000))));
    expect(next.has(checkOf(), 9999)).toBe(false);
    expect(next.has(checkOf({ once: 'later' }), 10_000)).toBe(true);
  });

  test('is remembered of as many as there is room for, the latest', () => {
    const done = new DoneOnce();
    for (let i = 0; i <= 10_000; i += 1) done.add(checkOf({ once: `${i}` }), 0);
    expect(done.has(checkOf({ once: '0' }), 1)).toBe(false);
    expect(done.has(checkOf({ once: '1' }), 1)).toBe(true);
    expect(done.has(checkOf({ once: '10000' }), 1)).toBe(true);
  });
});

test('what takes something, and what is done by leases, is done as often as it is asked for', () => {
  const done = new DoneOnce();
  for (const operation of [undefined, 'check', 'reserve', 'take', 'acquire', 'release', 'renew', 'peek'] as const) {
    done.add(checkOf({ operation }), 0);
    expect(done.has(checkOf({ operation }), 1)).toBe(false);
  }
});

test('a request has one id, whether it comes as a whole or in parts', () => {
  expect(onceOf('id reserve')).toBe('id');
  expect(onceOf('id reserve reserve')).toBe('id');
  expect(onceOf('id')).toBe('id');
  expect(onceOf('id cancel')).toBe('id cancel');
});
