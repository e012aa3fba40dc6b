import { parsePolicy } from 'sluice';
import { expect, it, test } from 'vitest';
import { parse } from 'yaml';
import {
  algorithms,
  choiceOfPolicy,
  choiceOfQuery,
  policyOf,
  queryOfChoice,
  type RuleChoice,
  ruleYaml,
} from './rule-choice.ts';

const choice: RuleChoice = { algorithm: 'gcra', limit: 30, windowMs: 10_000, burst: 5 };

test.each(algorithms)('%s makes a policy, a rule and an address that is read back', (algorithm) => {
  const one = { ...choice, algorithm };
  expect(parsePolicy(policyOf(one) as never)).toMatchObject({ algorithm, limit: 30, window: 10_000 });
  const [rule] = parse(ruleYaml(one, 'user')).rules;
  const { name, key, shadow, ...policy } = rule;
  expect({ name, key, shadow }).toEqual({ name: 'per-user', key: 'user', shadow: true });
  expect(policyOf(choiceOfPolicy({ ...policyOf(one) }))).toEqual(policyOf(one));
  expect(parsePolicy(policy)).toEqual(parsePolicy(policyOf(one) as never));
  expect(policyOf(choiceOfQuery(queryOfChoice(one, 'user')))).toEqual(policyOf(one));
});

it('is the default where the address makes no sense', () => {
  const wrong = new URLSearchParams('algorithm=magic&limit=-3&window=soon&burst=1e9999');
  expect(choiceOfQuery(wrong)).toEqual({ algorithm: 'gcra', limit: 100, windowMs: 60_000, burst: 100 });
  expect(choiceOfQuery(new URLSearchParams('window=3d')).windowMs).toBe(60_000);
});

it('quotes fields that YAML would read otherwise', () => {
  expect(parse(ruleYaml(choice, 'user+route')).rules[0].key).toEqual(['user', 'method', 'path']);
  expect(parse(ruleYaml(choice, 'x: [y')).rules[0].key).toBe('x: [y');
});
