import { parsePolicy } from 'sluice';
import { expect, test } from 'vitest';
import { Copies } from './copies.ts';
import type { NodeClock } from './environment.ts';
import { allFences } from './fences.ts';
import type { Replication } from './messages.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { Shard } from './shard.ts';
import { Kinds, Steps } from './steps.ts';
import { PolicyTexts } from './wire-check.ts';

const clock: NodeClock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
const policies = new OwnedPolicies({ graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 }, allFences);
const policy = parsePolicy({ algorithm: 'sliding-log', limit: 10, window: 1000 });

test('each shard has its own steps done again, also behind those of a shard that the sender does not own', () => {
  const copies = new Copies(clock, allFences, policies, new PolicyTexts(), 100);
  const kinds = new Kinds();
  const numbers = [3, 7, 9];
  const message = (sequence: number, costs: readonly number[]): Replication => {
    const steps = costs.map((cost) => {
      const own = new Steps();
      if (cost > 0) own.addPlain(kinds, 1000, 'api', 'ann', cost, policy);
      return own.written;
    });
    const shards = numbers.map((shard, i) => {
      const state = Shard.unknown(shard, clock, 100, { ...allFences, quarantine: false }).state();
      const entry = { shard, session: 1, sequence, nowMs: 1000, stepBytes: steps[i]!.length };
      return sequence === 1 ? { ...entry, state } : entry;
    });
    return { kind: 'replicate', to: 'b', from: 'a', epoch: 1, kinds: kinds.all, shards, steps: Buffer.concat(steps) };
  };
  expect(copies.receive(message(1, [0, 0, 0]), () => true)).toEqual(numbers);
  expect(copies.receive(message(2, [1, 2, 4]), (shard) => shard !== 7)).toEqual([3, 9]);
  const remaining = (shard: number) =>
    copies.take(shard, 1)!.peek([policies.ownedCheck({ name: 'api', key: 'ann', policy, cost: 0 })])[0]!.remaining;
  expect(numbers.map(remaining)).toEqual([9, 10, 6]);
});
