import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { smooth } from '../algorithms/smooth/smooth.ts';
import type { Check, Operation } from '../stores/store.ts';
import type { Decision, Reason } from '../vocabulary/decision.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import type { Policy } from '../vocabulary/policy.ts';
import {
  type Arguments,
  argumentsOfChecks,
  checksOfArguments,
  type DecisionWriter,
  decisionsOfReply,
  policyOfText,
  requestIdOf,
  writeDecisions,
} from './wire.ts';

/** What a server has after a command was read. */
function received(texts: readonly string[]): Arguments {
  const all = ['SLUICE.APPLY', ...texts];
  const text = (i: number) => all[i] as string;
  return { count: all.length, text, key: text };
}

/** A writer that keeps values instead of bytes. */
function replyOf(decisions: readonly Decision[]): unknown {
  const root: unknown[] = [];
  const open: { items: unknown[]; left: number }[] = [{ items: root, left: 1 }];
  const put = (item: unknown) => {
    const last = open.at(-1);
    if (last === undefined) throw new Error('more than one reply');
    last.items.push(item);
    last.left -= 1;
    while (open.at(-1)?.left === 0) open.pop();
  };
  const writer: DecisionWriter = {
    array(count) {
      const items: unknown[] = [];
      put(items);
      if (count > 0) open.push({ items, left: count });
    },
    integer(value) {
      expect(Number.isSafeInteger(value)).toBe(true);
      put(value);
    },
    bulk: put,
  };
  writeDecisions(writer, decisions);
  return root[0];
}

const policies: readonly Policy[] = [
  gcra({ limit: 100, window: '1m', burst: 20 }),
  slidingLog({ limit: 2.5, window: 333, countRejected: true }),
  concurrency({ limit: 3, lease: '5s' }),
  smooth({ limit: 10, window: '1s' }),
];
const operations: readonly Operation[] = ['check', 'peek', 'reserve', 'take', 'penalize', 'settle', 'block', 'reset'];
const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const amount = fc.oneof(fc.nat(), fc.double({ min: 0, max: 2 ** 50, noNaN: true })).map((value) => value + 0);
const someTime = fc.double({ min: 0, max: 1e9, noNaN: true });
const receipt = fc.array(fc.double(), { maxLength: 8 });

const anyCheck: fc.Arbitrary<Check> = fc.record(
  {
    name: text,
    key: text,
    policy: fc.constantFrom(...policies),
    cost: amount,
    operation: fc.constantFrom(...operations),
    shadow: fc.constant(true),
    maxDelayMs: amount,
    receipt,
    actual: amount,
    durationMs: amount,
    sinceMs: someTime,
    changedMs: fc.oneof(someTime, fc.constant(Number.NEGATIVE_INFINITY)),
  },
  { requiredKeys: ['name', 'key', 'policy', 'cost'] },
);

const nowMs = 2e9;

describe('checks', () => {
  it('arrive as they were sent, times as how long ago they were', () => {
    fc.assert(
      fc.property(fc.array(anyCheck, { minLength: 1, maxLength: 5 }), text, (checks, id) => {
        const args = received(argumentsOfChecks(id, checks, nowMs));
        expect(requestIdOf(args)).toBe(id === '' ? undefined : id);
        const expected = checks.map(({ sinceMs, changedMs, operation, ...check }) => ({
          ...check,
          ...(operation !== undefined && operation !== 'check' && { operation }),
          ...(sinceMs !== undefined && check.policy.algorithm === 'smooth' && { idleMs: nowMs - sinceMs }),
          ...(changedMs !== undefined && changedMs !== sinceMs && { changedAgoMs: nowMs - changedMs }),
        }));
        expect(checksOfArguments(args)).toEqual(expected);
      }),
    );
  });

  it('are plain where there is nothing more to them', () => {
    const [policy] = policies as [Policy];
    expect(argumentsOfChecks('id', [{ name: 'n', key: 'k', policy, cost: 1, sinceMs: 5, changedMs: 5 }], 9)).toEqual([
      'id',
      '1',
      'n',
      'k',
      '{"algorithm":"gcra","limit":100,"window":60000,"burst":20}',
      '1',
      '',
    ]);
  });

  it('of one text of a policy have the same policy', () => {
    const json = '{"algorithm":"gcra","limit":7,"window":1000}';
    const policy = policyOfText(json);
    policyOfText('{"algorithm":"gcra","limit":8,"window":1000}');
    expect(policyOfText(json)).toBe(policy);
  });

  const plain = ['id', '1', 'n', 'k', '{"algorithm":"gcra","limit":7,"window":1000}', '1', ''];
  const changed = (at: number, value: string) => plain.map((own, i) => (i === at ? value : own));
  it.each([
    ['no checks', changed(1, '0'), 'count must be a whole number from 1 to 200, got "0"'],
    ['too many checks', changed(1, '201'), 'count must be a whole number from 1 to 200, got "201"'],
    ['another count than said', changed(1, '2'), 'arguments must be 5 for each of 2 checks, got 5'],
    ['a policy that is no JSON', changed(4, 'gcra'), 'policy must be JSON, got "gcra"'],
    ['a policy that is none', changed(4, 'null'), 'policy must be an object, got null'],
    ['an unknown algorithm', changed(4, '{"algorithm":"magic"}'), 'algorithm must be one of'],
    ['a negative cost', changed(5, '-1'), 'cost must be a number of 0 or more, got "-1"'],
    ['an empty cost', changed(5, ''), 'cost must be a number of 0 or more, got ""'],
    ['a cost beyond all numbers', changed(5, '1e999'), 'cost must be a finite number'],
    ['details that are no object', changed(6, '[]'), 'what details is given must be an object'],
    ['an unknown detail', changed(6, '{"free":true}'), 'details has no field "free"'],
    ['an unknown operation', changed(6, '{"operation":"steal"}'), 'operation must be one of'],
    [
      'a lease of what has none',
      changed(6, '{"operation":"renew"}'),
      'operation must be one that gcra has, got "renew"',
    ],
    ['the end of such a lease', changed(6, '{"operation":"release"}'), 'operation must be one that gcra has'],
    ['a receipt of texts', changed(6, '{"receipt":["x"]}'), 'receipt must be at most 64 numbers'],
    ['a negative delay', changed(6, '{"maxDelayMs":-1}'), 'maxDelayMs must be a number from 0'],
  ])('with %s are refused', (_, texts, message) => {
    expect(() => checksOfArguments(received(texts))).toThrow(message);
  });

  it('of any garbage are refused with a clear error', () => {
    const piece = fc.oneof(fc.string(), fc.json(), fc.constantFrom(...plain));
    fc.assert(
      fc.property(fc.array(piece, { minLength: 7, maxLength: 13 }), (texts) => {
        try {
          checksOfArguments(received(texts));
        } catch (error) {
          expect(error).toBeInstanceOf(SluiceError);
          expect((error as SluiceError).code).toBe('invalid-option');
        }
      }),
      { numRuns: 1000 },
    );
  });
});

const reasons: readonly Reason[] = ['limit', 'blocked', 'store-full', 'store-failure', 'quarantine'];
const wait = fc.oneof(amount, fc.constant(Number.POSITIVE_INFINITY));

const anyDecision: fc.Arbitrary<Decision> = fc.record(
  {
    allowed: fc.boolean(),
    limit: amount,
    remaining: amount,
    retryAfterMs: wait,
    resetAfterMs: wait,
    delayMs: amount,
    rule: fc.constant('n'),
    policy: fc.constant(policies[0] as Policy),
    reason: fc.constantFrom(...reasons),
    granted: amount,
    receipt,
    shadow: fc.constant(true as const),
    degraded: fc.constantFrom('closed' as const, 'open' as const, 'local' as const),
    remembered: fc.constant(true as const),
  },
  {
    requiredKeys: ['allowed', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'delayMs', 'rule', 'policy'],
  },
);

const asked = (count: number): Check[] =>
  Array.from({ length: count }, () => ({ name: 'n', key: 'k', policy: policies[0] as Policy, cost: 1 }));

describe('decisions', () => {
  it('arrive as they were made, fractions and Infinity included', () => {
    fc.assert(
      fc.property(fc.array(anyDecision, { maxLength: 5 }), (decisions) => {
        expect(decisionsOfReply(asked(decisions.length), replyOf(decisions))).toEqual(decisions);
      }),
    );
  });

  it('are five integers where there is nothing more to them', () => {
    const plain = { limit: 5, remaining: 0, resetAfterMs: 9, delayMs: 0, rule: 'n', policy: policies[0] as Policy };
    const refused: Decision = { ...plain, allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, reason: 'limit' };
    expect(replyOf([{ ...plain, allowed: true, retryAfterMs: 0 }, refused])).toEqual([
      [1, 5, 0, 0, 9],
      [0, 5, 0, -1, 9],
    ]);
  });

  it.each([
    ['no array', 1],
    ['too few', []],
    ['a decision without numbers', [[1, 5]]],
    ['neither yes nor no', [[2, 5, 0, 0, 9]]],
    ['a negative number', [[1, 5, -7, 0, 9]]],
    ['a text that is no number', [[1, 5, 'x', 0, 9]]],
    ['more that is no JSON', [[1, 5, 0, 0, 9, '{']]],
    ['more that nobody knows', [[1, 5, 0, 0, 9, '{"free":1}']]],
    ['an unknown reason', [[0, 5, 0, 0, 9, '{"reason":"mood"}']]],
  ])('of a reply with %s are in doubt', (_, reply) => {
    expect(() => decisionsOfReply(asked(1), reply)).toThrow(
      expect.objectContaining({ code: 'store-unavailable' }) as unknown as Error,
    );
  });

  it('of any garbage are in doubt', () => {
    fc.assert(
      fc.property(fc.anything(), (reply) => {
        try {
          decisionsOfReply(asked(1), [reply]);
        } catch (error) {
          expect((error as SluiceError).code).toBe('store-unavailable');
        }
      }),
    );
  });
});
