/** The promise of keys that others change, by rows; and where nobody does, it is the auditor's. */
import { concurrency, gcra, type Policy, slidingLog } from 'sluice';
import { audit } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { random } from '../random.ts';
import { type BudgetOptions, overBudget } from './budget.ts';
import type { Intervention, Use } from './ledger.ts';

const asked = { rule: 'rule', key: 'key' };
const graceMs = 5;

/** `at` or `at-end`, with `:cost` where it is not 1; asked for a moment before. */
function usesOf(text: string): Use[] {
  return text.split(' ').map((word) => {
    const [time = '', cost = '1'] = word.split(':');
    const [atMs, endMs] = time.split('-').map(Number) as [number, number?];
    const use = { ...asked, cost: Number(cost), version: 0, atMs, askedMs: atMs - 1, statesLost: 0 };
    return endMs === undefined ? use : { ...use, endMs };
  });
}

/** `operation@from-to:cost`; without `to`, it was never answered. */
function interventionsOf(text: string): Intervention[] {
  return text.split(' ').flatMap((word) => {
    const [, operation, fromMs, toMs = 'Infinity', cost = '1'] = /^(\w+)@(\d+)-?(\d+)?:?(\d+)?$/.exec(word) ?? [];
    if (operation === undefined) return [];
    const times = { fromMs: Number(fromMs), toMs: Number(toMs), durationMs: 0, statesLost: 0 };
    return [{ ...asked, operation: operation as Intervention['operation'], cost: Number(cost), ...times }];
  });
}

function optionsOf(policy: Policy, more: Partial<BudgetOptions> = {}): BudgetOptions {
  return { policy, most: policy.burst ?? policy.limit, graceMs, isForgetful: false, ...more };
}

describe('what others do to a key', () => {
  const log = slidingLog({ limit: 2, window: 100 });
  const bucket = gcra({ limit: 1, window: 100, burst: 2 });
  const places = concurrency({ limit: 2, lease: 100 });
  const rows: [policy: Policy, uses: string, interventions: string, excess: number | undefined, reason: string][] = [
    [log, '10 20 109', '', 3, 'as without them'],
    [log, '10 20 110', '', undefined, 'the first is out of the window'],
    [log, '10 20 60', 'penalize@30-40', 4, 'a penalty counts as a use'],
    [log, '10 60', 'penalize@30-40', 3, 'also where it comes to no more than the limit by itself'],
    [log, '10 60', 'penalize@30-60', undefined, 'it may have come after the use was decided'],
    [log, '10 60', 'penalize@30', undefined, 'it may never have been carried out'],
    [log, '10 20', 'penalize@30-40:9', undefined, 'whoever was there first is not to blame'],
    [log, '131 132', 'penalize@30-40:9', undefined, 'it is out of the window by then'],
    [log, '10 20 60', 'reward@30-40', undefined, 'a reward frees one'],
    [log, '10 20 60 61', 'reward@30-40', 4, 'and not two'],
    [log, '10 20 60', 'reward@61-70', 3, 'it came too late'],
    [log, '10 20 60', 'reward@1-4', 3, 'it came before there was anything to free'],
    [log, '10 20 60', 'reward@1-6', undefined, 'what is used by now may have been granted before it'],
    [log, '10 20 60 61', 'reset@30-40', undefined, 'a reset frees all'],
    [log, '10 20 60 61 62', 'reset@30-40', 5, 'once'],
    [log, '10 20 60 61', 'penalize@22-24:9 reset@30-40', undefined, 'and what is owed beyond all'],
    [log, '10 20 60 61', 'reset@30-40 penalize@42-44', 5, 'but nothing that comes after'],
    [bucket, '0 1 2', 'penalize@3-4', 3, 'as without them'],
    [bucket, '0 1 101', 'penalize@3-4', 4, 'a bucket has to make up for it'],
    [bucket, '0 1 201', 'penalize@3-4', undefined, 'and has by then'],
    [bucket, '0 1 2', 'reward@1-2', undefined, 'a reward frees one'],
    [places, '0-50 10-60 20-70', '', 3, 'as without them'],
    [places, '0-50 10-60 50-70', '', undefined, 'a place that was given back is free'],
    [
      places,
      '0-50 10-60 20-70 21-70',
      'reset@15-16',
      undefined,
      'after a reset all are, whoever thinks that he has one',
    ],
    [places, '0-50 10-60 20-70 21-70 22-70', 'reset@15-16', 5, 'once'],
  ];
  it.each(rows)('%o: %s and %s come to %o: %s', (policy, uses, interventions, used) => {
    const excess = overBudget(usesOf(uses), interventionsOf(interventions), optionsOf(policy));
    expect(excess?.used).toBe(used);
  });

  it('may be forgotten with a state, where the policy is one that nobody waits for', () => {
    const penalties = interventionsOf('penalize@30-40');
    const uses = usesOf('10 60').map((use) => ({ ...use, statesLost: use.atMs > 50 ? 1 : 0 }));
    expect(overBudget(uses, penalties, optionsOf(log))).toBeDefined();
    expect(overBudget(uses, penalties, optionsOf(log, { isForgetful: true }))).toBeUndefined();
    expect(overBudget(usesOf('10 60'), penalties, optionsOf(log, { isForgetful: true }))).toBeDefined();
  });
});

describe('where nobody does anything', () => {
  const policies: Policy[] = [
    slidingLog({ limit: 3, window: 100 }),
    gcra({ limit: 3, window: 100, burst: 2 }),
    concurrency({ limit: 3, lease: 100 }),
  ];

  it.each(policies.map((policy) => [policy.algorithm, policy] as const))('it is the auditor (%s)', (_, policy) => {
    const chance = random(7);
    const verdicts = Array.from({ length: 500 }, () => {
      let atMs = 0;
      const text = Array.from({ length: 6 }, () => {
        atMs += chance.integer(70);
        return `${atMs}${policy.algorithm === 'concurrency' ? `-${atMs + 1 + chance.integer(150)}` : ''}:${1 + chance.integer(2)}`;
      }).join(' ');
      const uses = usesOf(text);
      const isKept = overBudget(uses, [], optionsOf(policy)) === undefined;
      expect(isKept, text).toBe(audit(uses, policy).ok);
      return isKept;
    });
    expect(new Set(verdicts).size).toBe(2);
  });
});
