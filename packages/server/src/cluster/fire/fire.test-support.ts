/**
 * A real cluster under real load, one fault after the other, and the verdict on each.
 *
 *      start ──► load ──► fault ──► every key is granted again ──► verdict, a line of the report ──► next fault
 *
 * The whole history is judged each time: a fault that lets a key have more than its limit is found whenever it shows.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type SluiceCluster,
  type SluiceClusterOptions,
  type SluiceNode,
  startSluiceCluster,
} from '@sluice/test-servers';
import { slidingLog } from 'sluice';
import { slotOf } from 'sluice/client';
import { expect, vi } from 'vitest';
import { allCallers } from './callers.test-support.ts';
import { audits, type Judgement, judge } from './history.test-support.ts';
import { type Load, startLoad } from './load.test-support.ts';

export const limit = 20;
/** Much longer than it takes to replace an owner: what the old one granted last still counts for a while when the new one begins. */
export const windowMs = 5000;
export const graceMs = 50;
export const ttlMs = 1000;
export const policy = slidingLog({ limit, window: windowMs });
export const rule = 'strict';
export const rulesText = `rules:
  - { name: ${rule}, key: user, algorithm: sliding-log, limit: ${limit}, window: ${windowMs}ms }
`;

// Real processes on a busy machine take their time.
vi.setConfig({ testTimeout: 180_000 });

/** How often each fault is tried; the soak tries more. */
export const rounds = Number(process.env.FIRE_ROUNDS ?? 1);
/** Options of a test that is one try. */
export const again = { repeats: rounds - 1 };

/**
 * Three kinds of keys on every node, by how often each client asks about one. `hot`: more often than its standby can be told of each call. `busy`: with
 * three clients all of the limit within a second, and breaks in between. `calm`: never as much as the limit, so that whatever is refused is refused without
 * need: these tell how long nobody is served.
 */
const kinds = {
  hot: { perNode: 1, everyMs: 30 },
  busy: { perNode: 8, everyMs: 100 },
  calm: { perNode: 6, everyMs: 1500 },
};
type Kind = keyof typeof kinds;
const kindOf = (key: string) => key.split('-')[0] as Kind;
const reportFile = process.env.FIRE_REPORT;
/** What the table reports on is at least this long, so that the shares of faults can be compared. */
const reportedMs = reportFile === undefined ? 0 : 2 * windowMs;

export interface Fire {
  readonly cluster: SluiceCluster;
  readonly load: Load;
  readonly keys: readonly string[];
  /** Those of the keys that the node owns now. */
  keysOf(node: SluiceNode): Promise<string[]>;
  /** A running node. */
  anyNode(): SluiceNode;
  /** Does something to the cluster, and waits until each key is granted again. `about`: whose keys the report is about; default all. */
  during(name: string, fault: () => Promise<void>, about?: readonly string[]): Promise<Judgement>;
  /** No key certainly had more than its limit, since the beginning. */
  mustHold(): void;
  stop(): Promise<void>;
}

export async function startFire(options: Partial<SluiceClusterOptions> = {}): Promise<Fire> {
  const cluster = await startSluiceCluster({ config: rulesText, ttlMs, graceMs, ...options });
  let load: Load | undefined;
  try {
    const keys = await keysOnEveryNode(cluster);
    load = startLoad({
      callers: await allCallers({ seeds: cluster.seeds, rule, policy, graceMs }),
      keys,
      graceMs,
      everyMs: (key) => kinds[kindOf(key)].everyMs,
      hasBreaks: (key) => kindOf(key) === 'busy',
    });
    await load.untilEachIsGranted(busyKeys(keys), limit / 2);
    return fireOf(cluster, load, keys);
  } catch (error) {
    await load?.stop();
    await cluster.stop();
    throw error;
  }
}

function fireOf(cluster: SluiceCluster, load: Load, keys: readonly string[]): Fire {
  const running = () => cluster.nodes.filter(({ state }) => state === 'running');

  function mustHold(): void {
    const { between, atReceipt } = audits(load.calls, policy);
    expect(between.ok, between.describe()).toBe(true);
    expect(atReceipt.ok, atReceipt.describe()).toBe(true);
    // Keys were used up, so that more would have been seen: half of the promise was broken.
    expect(audits(load.calls, slidingLog({ limit: limit / 2, window: windowMs })).between.ok).toBe(false);
  }

  return {
    cluster,
    load,
    keys,
    async keysOf(node) {
      const ownerOf = await cluster.owners();
      return keys.filter((key) => ownerOf(slotOf(key)) === node);
    },
    anyNode() {
      const nodes = running();
      return nodes[Math.floor(Math.random() * nodes.length)]!;
    },
    async during(name, fault, about = keys) {
      const fromMs = performance.now();
      const before = new Map(load.errors);
      await fault();
      await Promise.all([load.untilEachIsGranted(keys, 1), load.untilEachIsGranted(busyKeys(keys), limit / 2)]);
      await sleep(Math.max(0, reportedMs - (performance.now() - fromMs)));
      const calm = about.filter((key) => kindOf(key) === 'calm');
      const judgement = judge(load.calls, { policy, graceMs, fromMs, toMs: performance.now(), keys: calm });
      report(name, judgement);
      showErrors(before, load.errors);
      return judgement;
    },
    mustHold,
    async stop() {
      await load.stop();
      await cluster.stop();
    },
  };
}

function busyKeys(keys: readonly string[]): string[] {
  return keys.filter((key) => kindOf(key) !== 'calm');
}

async function keysOnEveryNode(cluster: SluiceCluster): Promise<string[]> {
  const found: string[] = [];
  const ownerOf = await cluster.owners();
  for (const [kind, { perNode }] of Object.entries(kinds)) {
    const left = new Map<SluiceNode, number>(cluster.nodes.map((node) => [node, perNode]));
    for (let number = 0; [...left.values()].some((count) => count > 0); number += 1) {
      const key = `${kind}-${number}`;
      const owner = ownerOf(slotOf(key))!;
      const count = left.get(owner)!;
      if (count === 0) continue;
      left.set(owner, count - 1);
      found.push(key);
    }
  }
  return found;
}

/** A line for whoever watches, and with FIRE_REPORT one for the table. */
export function report(fault: string, judgement: Judgement): void {
  const { calls, grants, violations, wronglyRefusedRatio, withoutServiceMs, withoutServiceMsMedian } = judgement;
  console.log(
    `${fault}: ${calls} calls, ${grants} grants, ${violations} violations, ` +
      `${(100 * wronglyRefusedRatio).toFixed(1)} % wrongly refused, without service for ` +
      `${(withoutServiceMs / 1000).toFixed(1)} s at most, ${(withoutServiceMsMedian / 1000).toFixed(1)} s in the middle`,
  );
  if (reportFile !== undefined) appendFileSync(reportFile, `${JSON.stringify({ fault, ...judgement })}\n`);
}

/** With FIRE_ERRORS: what clients met meanwhile, and how often. */
function showErrors(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
  if (process.env.FIRE_ERRORS === undefined) return;
  const since = [...after].map(([text, count]) => [count - (before.get(text) ?? 0), text] as const);
  for (const [count, text] of since.sort(([a], [b]) => b - a)) if (count > 0) console.log(`  ${count} ${text}`);
}
