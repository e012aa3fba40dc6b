import { type Policy, parsePolicy } from 'sluice';
import { expect, test } from 'vitest';
import type { NodeClock } from './environment.ts';
import { allFences } from './fences.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { Shard } from './shard.ts';
import { StepWriter } from './step-bytes.ts';
import { Kinds, mustBeCopied, StepReader, Steps, type WireKind } from './steps.ts';
import { PolicyTexts } from './wire-check.ts';

const clock: NodeClock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
const policies = new OwnedPolicies({ graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 }, allFences);
const bucket = parsePolicy({ algorithm: 'gcra', limit: 10, window: 1000 });
const log = parsePolicy({ algorithm: 'sliding-log', limit: 3, window: 1000 });

function shardOf(): Shard {
  return Shard.unknown(7, clock, 100, { ...allFences, quarantine: false });
}

/** The steps of one message, and the kinds that it says once. */
function begin() {
  const kinds = new Kinds();
  const steps = new Steps();
  return {
    steps,
    addPlain: (atMs: number, name: string, key: string, cost: number, policy: Policy) =>
      steps.addPlain(kinds, atMs, name, key, cost, policy),
    travelled: () => [JSON.parse(JSON.stringify(kinds.all)) as readonly WireKind[], steps.written] as const,
  };
}

function repeated(copy: Shard, { travelled }: Pick<ReturnType<typeof begin>, 'travelled'>): boolean {
  const [kinds, bytes] = travelled();
  return new StepReader(kinds, bytes, policies, new PolicyTexts()).repeat(copy, 0, bytes.length);
}

function remaining(shard: Shard, key: string): number {
  return shard.peek([policies.ownedCheck({ name: 'api', key, policy: log, cost: 0 })])[0]!.remaining;
}

test('plain checks and batches are done again in their order', () => {
  const message = begin();
  message.addPlain(1000, 'api', 'ann', 1, log);
  message.steps.addBatch(1000.25, [
    policies.ownedCheck({ name: 'api', key: 'ann', policy: log, cost: 1 }),
    policies.ownedCheck({ name: 'api', key: 'bob', policy: log, cost: 2 }),
  ]);
  message.addPlain(1000.5, 'api', 'bob', 1, log);
  const copy = shardOf();
  expect(repeated(copy, message)).toBe(true);
  expect([remaining(copy, 'ann'), remaining(copy, 'bob')]).toEqual([1, 0]);
});

test('one that comes to another end says so', () => {
  const message = begin();
  for (let i = 0; i < 4; i += 1) message.addPlain(1000, 'api', 'ann', 1, log);
  expect(repeated(shardOf(), message)).toBe(false);
});

test.each([
  ['of plain letters', 'ann'],
  ['of other letters', 'größe 🙂'],
  ['that begins with a mark', '\ufeffann'],
  ['of which no bytes are UTF-8', 'a\ud800'],
  ['that was bytes', '\uffffÿ'],
  ['that is longer than a plain one may be', 'x'.repeat(30_000)],
])('a key %s is the same key', (_, key) => {
  const message = begin();
  // The first goes the long way, the others the short one.
  for (let i = 0; i < 3; i += 1) message.addPlain(1000, 'api', key, 1, log);
  const copy = shardOf();
  expect(repeated(copy, message)).toBe(true);
  expect(remaining(copy, key)).toBe(0);
});

test('each name with its policy is said once', () => {
  const message = begin();
  for (const [name, policy] of [
    ['api', log],
    ['api', bucket],
    ['login', log],
    ['api', log],
  ] as const)
    message.addPlain(1000, name, 'ann', 1, policy);
  const [kinds, bytes] = message.travelled();
  const [logText, bucketText] = [JSON.stringify(log), JSON.stringify(bucket)];
  expect(kinds).toEqual([
    ['api', logText],
    ['api', bucketText],
    ['login', logText],
  ]);
  const stepBytes = bytes.length / 4;
  expect([0, 1, 2, 3].map((step) => bytes[step * stepBytes])).toEqual([0, 1, 2, 0]);
});

test('what a step took of which key is known until it is confirmed; a reservation may have taken more than was reserved', () => {
  const message = begin();
  message.addPlain(1000, 'api', 'ann', 2, log);
  message.steps.addBatch(1000, [policies.ownedCheck({ name: 'api', key: 'bob', policy: log, cost: 1, actual: 3 })]);
  const costs: unknown[] = [];
  message.steps.forEachCost((...cost) => costs.push(cost));
  expect(costs).toEqual([
    ['api', 'ann', 2],
    ['api', 'bob', 3],
  ]);
  message.steps.clear();
  expect(message.steps.isEmpty).toBe(true);
  message.steps.forEachCost(() => expect.unreachable());
});

test('what a step took is told by the kinds of its own message, however they are numbered in the next one', () => {
  const steps = new Steps();
  const said = (kinds: Kinds, ...names: string[]) => {
    steps.clear();
    for (const name of names) steps.addPlain(kinds, 1000, name, 'ann', 1, log);
    const heard: string[] = [];
    steps.forEachCost((name) => heard.push(name));
    return heard;
  };
  expect(said(new Kinds(), 'api', 'login')).toEqual(['api', 'login']);
  expect(said(new Kinds(), 'login', 'api', 'login')).toEqual(['login', 'api', 'login']);
});

test('a kind that the message does not have, or that cannot be read, is an error', () => {
  const message = begin();
  message.addPlain(1000, 'api', 'ann', 1, log);
  const [, bytes] = message.travelled();
  const repeat = (kinds: readonly WireKind[]) =>
    new StepReader(kinds, bytes, policies, new PolicyTexts()).repeat(shardOf(), 0, bytes.length);
  expect(() => repeat([])).toThrow('kind must be below 0, got 0');
  expect(() => repeat([['api', 'no policy']])).toThrow('policy must be JSON');
});

test('a batch that is none is an error', () => {
  const writer = new StepWriter();
  writer.batch(1000, '[{"name":"api"}]');
  const reader = new StepReader([], writer.written, policies, new PolicyTexts());
  expect(() => reader.repeat(shardOf(), 0, writer.length)).toThrow('checks[0].key must be a text');
});

test.each([
  [true, { operation: 'renew' }],
  [true, { operation: 'block' }],
  [true, { operation: 'reward', once: 'id' }],
  [true, { operation: 'reset', once: 'id' }],
  [true, { operation: 'settle', actual: 4, once: 'id' }],
  // Nobody sends it again by itself.
  [false, { operation: 'settle', actual: 4, once: 'id cancel' }],
  // Nobody can send it again.
  [false, { operation: 'reward' }],
  // It gives nothing back.
  [false, { operation: 'settle', actual: 5, once: 'id' }],
  [false, { operation: 'penalize', once: 'id' }],
  [false, { operation: 'check' }],
] as const)('must be in the copy before it is answered: %s, for %j', (must, more) => {
  expect(mustBeCopied({ ...policies.ownedCheck({ name: 'api', key: 'k', policy: log, cost: 5 }), ...more })).toBe(must);
});
