import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { type RulesResult, rules, tightestOf } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { nodeReader } from '../node/reader.ts';
import { gate } from './gate.ts';
import { earlierResult, together } from './several.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });

function resultOf(name: string, limit: number, calls: number): RulesResult {
  const one = rules([{ name, policy: perMinute(limit) }]);
  for (let i = 1; i < calls; i += 1) one.check({});
  return one.check({});
}

describe('what several limits say together', () => {
  it('is what one of them says where there is no other', () => {
    const one = resultOf('one', 3, 1);
    expect(together(undefined, one)).toBe(one);
  });

  // biome-ignore format: aligned rows
  it.each<[before: [limit: number, calls: number], now: [limit: number, calls: number], allowed: boolean, tightest: string]>([
    //  limit, calls   limit, calls   allowed   of whom the client is told
    [ [ 10,    1 ],  [ 10,    2 ],    true,     'now'    ],
    [ [ 10,    2 ],  [ 10,    1 ],    true,     'before' ],
    [ [ 10,    9 ],  [ 1,     2 ],    false,    'now'    ],  // a refusal before any grant
    [ [ 1,     2 ],  [ 10,    9 ],    false,    'before' ],  // let go on by a handler
  ])('of %j before and %j now: allowed %s, by %s', (before, now, allowed, tightest) => {
    const said = together(resultOf('before', ...before), resultOf('now', ...now));
    expect([said.allowed, said.tightest?.rule]).toEqual([allowed, tightest]);
    expect(said.decisions.map(({ rule }) => rule)).toEqual(['before', 'now']);
  });

  it('has every decision that binds, whatever the order, and the tightest of them', () => {
    const results = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 })),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(results, (list) => {
        const each = list.map(([name, limit, calls]) => resultOf(name, limit, calls));
        const [first, ...others] = each as [RulesResult, ...RulesResult[]];
        const said = others.reduce(together, first);
        const all = each.flatMap(({ decisions }) => decisions);
        expect(said.allowed).toBe(all.every(({ allowed }) => allowed));
        expect(said.tightest).toBe(tightestOf(all));
        // Each has a policy of its own, so none stands for another.
        expect(said.decisions).toEqual(all);
      }),
    );
  });

  it('names a policy once, that was asked twice', () => {
    const policy = perMinute(9);
    const one = rules([{ name: 'x', policy, key: 'user' }]);
    one.check({ user: 'alice' });
    const [alice, bob] = [one.check({ user: 'alice' }), one.check({ user: 'bob' })];
    expect(together(alice, bob).decisions).toEqual(alice.decisions);
    expect(together(bob, alice).decisions).toEqual(alice.decisions);
  });

  it.each([undefined, null, 7, { limit: 5, used: 1 }, { decisions: 'none' }])('is not said by %j', (found) => {
    expect(earlierResult(found)).toBeUndefined();
  });
});

describe('a name', () => {
  const warnedOf = (...policies: readonly (readonly [name: string | undefined, policy: ReturnType<typeof gcra>])[]) => {
    const warned: string[] = [];
    const store = memoryStore();
    for (const [name, policy] of policies) {
      gate({ policy, store, ...(name !== undefined && { name }), warn: (text) => warned.push(text) }, nodeReader);
    }
    return warned;
  };
  const few = () => gcra({ limit: 5, window: '1m' });
  const many = () => gcra({ limit: 100, window: '1m' });

  it('of two policies in one store is warned of', () => {
    expect(warnedOf([undefined, many()], [undefined, few()])).toEqual([
      expect.stringMatching(/^Two policies go by one name/),
    ]);
    expect(warnedOf([undefined, many()], ['default', few()])).toHaveLength(1);
  });

  it('of one policy, or of two in stores of their own, is not', () => {
    expect(warnedOf(['many', many()], ['few', few()])).toEqual([]);
    expect(warnedOf(['api', many()], ['api', many()])).toEqual([]);
    expect([...warnedOf([undefined, many()]), ...warnedOf([undefined, few()])]).toEqual([]);
  });
});
