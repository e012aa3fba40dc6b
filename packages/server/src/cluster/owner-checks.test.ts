import { type Check, parsePolicy } from 'sluice';
import { expect, test } from 'vitest';
import type { PeerMessage, PeerReply } from './messages.ts';
import type { NodeParts } from './node-parts.ts';
import { OwnerChecks } from './owner-checks.ts';

const policy = parsePolicy({ algorithm: 'gcra', limit: 10, window: 1000 });
const shardOf: Record<string, number> = { ann: 0, bob: 1 };
const checks: Check[] = Object.keys(shardOf).map((key) => ({ name: 'api', key, policy, cost: 1 }));

/** A node that owns nothing: it asks those who own, by a table that may change. */
function forwarder(owners: number[], answer: (to: string, message: PeerMessage) => PeerReply) {
  const nodes = ['a', 'b'].map((id) => ({ id, epoch: 1, ttlMs: 1000, addresses: { resp: `${id}:1` } }));
  const parts = {
    settings: { patienceMs: 1000, shared: { graceMs: 10 } },
    environment: {
      clock: { nowMs: () => performance.now(), after: (ms: number, action: () => void) => setTimeout(action, ms) },
      peers: { ask: async (address: string, message: PeerMessage) => answer(address.slice(0, 1), message) },
    },
    fences: { onlyOwnersCount: true },
    membership: { self: { id: 'self' }, table: { nodes, owners }, reach: (node: unknown) => node },
    shards: { of: () => undefined, numberOf: (key: string) => shardOf[key]! },
    isStopped: false,
  };
  return new OwnerChecks(parts as unknown as NodeParts);
}

function granted(message: PeerMessage): PeerReply {
  const { checks: asked } = message as Extract<PeerMessage, { kind: 'apply' }>;
  const yes = { allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetAfterMs: 100, delayMs: 0, rule: 'api' };
  return { kind: 'decisions', decisions: asked.map(({ key }) => ({ ...yes, key, receipt: [1] })) as never };
}

test('keys that were one owner’s are asked of each, once they have several', async () => {
  const owners = [0, 0];
  const asked: string[] = [];
  const node = forwarder(owners, (to, message) => {
    const keys = (message as Extract<PeerMessage, { kind: 'apply' }>).checks.map(({ key }) => key);
    asked.push(`${to}: ${keys.join(' ')}`);
    if (keys.length === 1) return granted(message);
    // Meanwhile one of them has gone to another node.
    owners[1] = 1;
    return { kind: 'not-mine' };
  });
  const decisions = await node.apply(checks);
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true]);
  expect(asked).toEqual(['a: ann bob', 'a: ann', 'b: bob']);
});

test('what is being handed over is asked for again', async () => {
  let tries = 0;
  const node = forwarder([0, 0], (_, message) => {
    tries += 1;
    return tries < 3 ? { kind: 'moving' } : granted(message);
  });
  expect(await node.apply(checks)).toHaveLength(2);
  expect(tries).toBe(3);
});
