/** Against records that the cluster's own code writes. */
import type { Policy } from 'sluice';
import { parsePolicy } from 'sluice';
import { expect, it } from 'vitest';
import { allFences } from '../cluster/fences.ts';
import { LongWindows, type LongWindowsOptions } from '../cluster/long-windows.ts';
import { OwnedPolicies } from '../cluster/owned-policy.ts';
import { keysOf } from '../cluster/records.ts';
import type { Shard } from '../cluster/shard.ts';
import { longRecordSize } from './long-record.ts';
import { someQuestion } from './plan.test-support.ts';

const shared = { graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 };

/** The last of those that are written in a window and a bit, one for each grant. */
async function writtenBytes(policy: Policy, everyMs: number): Promise<number> {
  let nowMs = 500_000_000.987_654_3;
  let modRevision = 0;
  let written: { readonly key: string; readonly value: string } | undefined;
  const etcd: LongWindowsOptions['environment']['etcd'] = {
    async transact({ change, read }) {
      const [put] = change as readonly { readonly put: string; readonly value: string }[];
      if (put) {
        modRevision += 1;
        written = { key: put.put, value: put.value };
      }
      const found = read.map(() => (written ? [{ ...written, modRevision, createRevision: 1 }] : []));
      return { succeeded: true, revision: modRevision, found: put ? found : found.map(() => []) };
    },
  };
  const owned = new OwnedPolicies(shared, allFences).of(policy);
  const long = new LongWindows({
    environment: { clock: { nowMs: () => nowMs }, etcd, random: Math.random },
    fences: allFences,
    time: { nowMs: () => nowMs, lagMs: 20_000 },
    prefix: keysOf('default').long,
    shards: 1024,
    maxKeys: 10,
    timeoutMs: 1000,
  } as unknown as LongWindowsOptions);
  const shard = {
    number: 0,
    settle() {},
    couldTake: () => true,
    isAsNew: () => false,
    isSettled: () => false,
    isCertainFor: () => false,
    charge() {},
  } as unknown as Shard;
  long.own(shard, '1234567 1234567');
  const check = { name: 'per-user', key: 'u'.repeat(20), policy, cost: 1, owned };
  for (const endMs = nowMs + 1.2 * owned.spanMs; nowMs < endMs; nowMs += everyMs) {
    if (!long.covers(check)) await long.cover(shard, check);
    long.spend(check);
  }
  return written!.key.length + written!.value.length;
}

it.each([
  ['sliding-log', 3600, 3_600_000, 5000],
  ['sliding-slots', 100_000, 86_400_000, 60_000],
  ['gcra', 10, 3_600_000, 360_000],
  ['fixed-window', 100, 7_200_000, 72_000],
])(
  'a record of %s, %d in %d ms, asked every %d ms, is about as large as it is written',
  async (algorithm, limit, window, everyMs) => {
    const policy = parsePolicy({ algorithm, limit, window });
    const { spanMs } = new OwnedPolicies(shared, allFences).of(policy);
    const perSecond = 1000 / everyMs;
    const { bytes } = longRecordSize(someQuestion, {
      spanMs,
      writesPerSecond: Math.min(1, perSecond),
      grantsPerSecond: perSecond,
    });
    const written = await writtenBytes(policy, everyMs);
    expect(bytes / written).toBeGreaterThan(0.8);
    expect(bytes / written).toBeLessThan(1.25);
  },
);
