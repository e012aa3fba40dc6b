import { parsePolicy } from 'sluice';
import { expect, test } from 'vitest';
import type { NodeClock } from './environment.ts';
import { allFences } from './fences.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { Shard } from './shard.ts';
import { Kinds, StepReader, Steps, type WireKind, type WireSteps } from './steps.ts';
import { PolicyTexts } from './wire-check.ts';

const clock: NodeClock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
const policies = new OwnedPolicies({ graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 }, allFences);
const bucket = parsePolicy({ algorithm: 'gcra', limit: 10, window: 1000 });
const log = parsePolicy({ algorithm: 'sliding-log', limit: 3, window: 1000 });

function shardOf(): Shard {
  return Shard.unknown(7, clock, 100, { ...allFences, quarantine: false });
}

function travelled(steps: Steps): [readonly WireKind[], WireSteps] {
  const kinds = new Kinds();
  const wire = steps.wire(kinds);
  return JSON.parse(JSON.stringify([kinds.all, wire]));
}

function remaining(shard: Shard, key: string): number {
  return shard.peek([policies.ownedCheck({ name: 'api', key, policy: log, cost: 0 })])[0]!.remaining;
}

test('plain checks and batches are done again in their order', () => {
  const steps = new Steps();
  steps.addPlain(1000, 'api', 'ann', 1, log);
  steps.addBatch(1000.25, [
    policies.ownedCheck({ name: 'api', key: 'ann', policy: log, cost: 1 }),
    policies.ownedCheck({ name: 'api', key: 'bob', policy: log, cost: 2 }),
  ]);
  steps.addPlain(1000.5, 'api', 'bob', 1, log);
  const [kinds, wire] = travelled(steps);
  const copy = shardOf();
  expect(new StepReader(kinds, policies, new PolicyTexts()).repeat(copy, wire)).toBe(true);
  expect([remaining(copy, 'ann'), remaining(copy, 'bob')]).toEqual([1, 0]);
});

test('one that comes to another end says so', () => {
  const steps = new Steps();
  for (let i = 0; i < 4; i += 1) steps.addPlain(1000, 'api', 'ann', 1, log);
  const [kinds, wire] = travelled(steps);
  expect(new StepReader(kinds, policies, new PolicyTexts()).repeat(shardOf(), wire)).toBe(false);
});

test('each name with its policy is said once', () => {
  const steps = new Steps();
  for (const [name, policy] of [
    ['api', log],
    ['api', bucket],
    ['login', log],
    ['api', log],
  ] as const)
    steps.addPlain(1000, name, 'ann', 1, policy);
  const [kinds, wire] = travelled(steps);
  const [logText, bucketText] = [JSON.stringify(log), JSON.stringify(bucket)];
  expect(kinds).toEqual([
    ['api', logText],
    ['api', bucketText],
    ['login', logText],
  ]);
  expect([1, 5, 9, 13].map((at) => wire[at])).toEqual([0, 1, 2, 0]);
});

test('what a step took of which key is known until it is confirmed; a reservation may have taken more than was reserved', () => {
  const steps = new Steps();
  steps.addPlain(1000, 'api', 'ann', 2, log);
  steps.addBatch(1000, [policies.ownedCheck({ name: 'api', key: 'bob', policy: log, cost: 1, actual: 3 })]);
  const costs: unknown[] = [];
  steps.forEachCost((...cost) => costs.push(cost));
  expect(costs).toEqual([
    ['api', 'ann', 2],
    ['api', 'bob', 3],
  ]);
});

test('a kind that the message does not have, or that cannot be read, is an error', () => {
  const reader = new StepReader([['api', 'no policy']], policies, new PolicyTexts());
  expect(() => reader.repeat(shardOf(), [1000, 1, 'ann', 1])).toThrow('kind must be below 1, got 1');
  expect(() => reader.repeat(shardOf(), [1000, 0, 'ann', 1])).toThrow('policy must be JSON');
});
