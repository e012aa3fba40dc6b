/**
 * What keys take and what moving them takes, measured with the stores themselves: one for each shard, as a node keeps them. To be run in a process of its
 * own that exposes its collector, or the garbage of others is measured too.
 */
import { memoryStore, parsePolicy } from 'sluice';
import type { NodeClock } from '../../cluster/environment.ts';
import { allFences } from '../../cluster/fences.ts';
import type { Replication } from '../../cluster/messages.ts';
import { OwnedPolicies } from '../../cluster/owned-policy.ts';
import { readPeerMessage, type WrittenMessage, writePeerMessage } from '../../cluster/peers/peer-text.ts';
import { Shard, shardKeys } from '../../cluster/shard.ts';
import { mostShards as shards } from '../../cluster/shards.ts';
import { Kinds, StepReader, Steps } from '../../cluster/steps.ts';
import { PolicyTexts } from '../../cluster/wire-check.ts';
import type { StoreFigures } from '../plan-figures.ts';
import type { PlanPolicy } from '../plan-question.ts';

export interface StoreOrder {
  readonly policy: PlanPolicy;
  readonly keyBytes: number;
  readonly keysPerStore: number;
  /** In a window, on average. */
  readonly checksPerKey: number;
  readonly graceMs: number;
  /** Made to fill the stores, about: it ends in seconds, with fewer keys where that would be more. */
  readonly mostChecks: number;
}

const name = 'per-user';
const startMs = 1_000_000_000;
/** A ring grows with what is in it; more than these are not needed to see where it ends. */
const mostChecksPerKey = 2000;

export function measureStores(order: StoreOrder, collect: () => void): StoreFigures {
  const { keyBytes, checksPerKey } = order;
  const times = timesOfKeys(order);
  const mostKeys = mostKeysOf(order, times);
  const keysPerStore = Math.max(1, Math.min(order.keysPerStore, mostKeys));
  const shared = { graceMs: order.graceMs, unreplicated: 0, durableFromMs: Number.POSITIVE_INFINITY };
  const policy = new OwnedPolicies(shared, allFences).of(parsePolicy(order.policy)).applied;
  const storesMeasured = Math.max(1, Math.min(shards, Math.floor(mostKeys / keysPerStore)));
  collect();
  const before = memoryBytes();
  const stores = Array.from({ length: storesMeasured }, () => memoryStore(shardKeys));
  // Window by window through all keys, as calls come: rows grow in place among each other.
  for (let round = 0; round < times.most; round += 1) {
    const atMs = startMs + Math.floor(((round + 1) * order.policy.window) / (times.most + 1));
    for (const [number, store] of stores.entries()) {
      for (let key = 0; key < keysPerStore; key += 1) {
        if (round >= times.of(key)) continue;
        store.apply([{ name, key: keyText(number, key, keyBytes), policy, cost: 1 }], atMs);
      }
    }
  }
  collect();
  const keys = storesMeasured * keysPerStore;
  const bytesPerKey = Math.max(1, memoryBytes() - before) / keys;
  return {
    policy: order.policy,
    keyBytes,
    keysPerStore,
    checksPerKey,
    stores: storesMeasured,
    bytesPerKey,
    ...measureHandOver(stores[0]!, keysPerStore),
    ...measureSteps(order),
  };
}

function mostKeysOf({ mostChecks }: StoreOrder, { mean }: Times): number {
  return Math.max(1, Math.floor(mostChecks / mean));
}

/**
 * Whether what was measured is what would be measured for this order: a table with half or twice the keys is as full per key, but one with a few keys
 * is mostly what a store takes by itself.
 */
export function isMeasuredFor(order: StoreOrder, { policy, checksPerKey, keysPerStore }: StoreFigures): boolean {
  const isNear = (value: number, wanted: number, by: number) => value <= by * wanted && value >= wanted / by;
  const wantedKeys = Math.min(order.keysPerStore, mostKeysOf(order, timesOfKeys(order)));
  const { algorithm, limit, window } = order.policy;
  return (
    policy.algorithm === algorithm &&
    policy.limit === limit &&
    policy.window === window &&
    isNear(checksPerKey, order.checksPerKey, 1.25) &&
    isNear(keysPerStore, wantedKeys, 2)
  );
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

interface Times {
  readonly most: number;
  readonly mean: number;
  of(key: number): number;
}

/** Calls come by chance: around the mean as Poisson has it, here by the quantiles, in an order that repeats. */
function timesOfKeys({ checksPerKey, policy }: StoreOrder): Times {
  const mean = Math.min(checksPerKey, mostChecksPerKey);
  const steps = 64;
  const counts = Array.from({ length: steps }, (_, i) => {
    const count = poissonQuantile(mean, (i + 0.5) / steps);
    return Math.max(1, Math.min(count, policy.limit, mostChecksPerKey));
  });
  const sum = counts.reduce((all, count) => all + count, 0);
  return { most: Math.max(...counts), mean: sum / steps, of: (key) => counts[(key * 29) % steps]! };
}

function poissonQuantile(mean: number, share: number): number {
  let count = 0;
  let logProbability = -mean;
  let atMost = Math.exp(logProbability);
  while (atMost < share && count < 4 * mean + 50) {
    count += 1;
    logProbability += Math.log(mean / count);
    atMost += Math.exp(logProbability);
  }
  return count;
}

function keyText(store: number, key: number, bytes: number): string {
  const digits = `${store}.${key}`;
  // Flat, as a text is that came from a socket.
  return Buffer.from('u'.repeat(Math.max(0, bytes - digits.length)) + digits, 'latin1').toString('latin1');
}

function measureHandOver(store: ReturnType<typeof memoryStore>, keys: number) {
  const beginMs = performance.now();
  const text = JSON.stringify(store.snapshot());
  const writtenMs = performance.now();
  memoryStore(shardKeys).restore(JSON.parse(text));
  const restoredMs = performance.now();
  return {
    snapshotBytesPerKey: text.length / keys,
    snapshotUsPerKey: (1000 * (writtenMs - beginMs)) / keys,
    restoreUsPerKey: (1000 * (restoredMs - writtenMs)) / keys,
  };
}

const stepsMeasured = 20_000;
const stepsPerMessage = 100;

interface MessageCost {
  readonly bytes: number;
  readonly ownerUs: number;
  readonly standbyUs: number;
}

/** Messages about one shard against messages about as many shards as there are steps: what a step costs, and what a shard does. */
function measureSteps(order: StoreOrder) {
  const few = messageCost(order, 1);
  const many = messageCost(order, stepsPerMessage);
  const entry = (of: (cost: MessageCost) => number) => Math.max(0, (of(many) - of(few)) / (1 - 1 / stepsPerMessage));
  const step = (of: (cost: MessageCost) => number) => Math.max(0, of(many) - entry(of));
  return {
    stepBytes: step(({ bytes }) => bytes),
    stepOwnerUs: step(({ ownerUs }) => ownerUs),
    stepStandbyUs: step(({ standbyUs }) => standbyUs),
    entryBytes: entry(({ bytes }) => bytes),
    entryOwnerUs: entry(({ ownerUs }) => ownerUs),
    entryStandbyUs: entry(({ standbyUs }) => standbyUs),
  };
}

/** For one step, in messages about so many shards. */
function messageCost({ policy: data, keyBytes, graceMs }: StoreOrder, shardsPerMessage: number): MessageCost {
  const policy = parsePolicy(data);
  const keys = Array.from({ length: stepsMeasured }, (_, i) => keyText(0, i, keyBytes));
  const shared = { graceMs, unreplicated: 0, durableFromMs: Number.POSITIVE_INFINITY };
  const policies = new OwnedPolicies(shared, allFences);
  const copies = Array.from({ length: shardsPerMessage }, (_, shard) =>
    Shard.unknown(shard, standingClock, stepsMeasured, { ...allFences, quarantine: false }),
  );
  const texts = new PolicyTexts();
  const carriedOut = Array.from({ length: shardsPerMessage }, () => new Steps());
  const round = (atMs: number): MessageCost => {
    const beginMs = performance.now();
    const messages: WrittenMessage[] = [];
    for (let from = 0; from < stepsMeasured; from += stepsPerMessage) {
      const kinds = new Kinds();
      for (const steps of carriedOut) steps.clear();
      for (let i = 0; i < stepsPerMessage; i += 1)
        carriedOut[i % shardsPerMessage]!.addPlain(kinds, atMs, name, keys[from + i]!, 1, policy);
      messages.push(writePeerMessage(replicationOf(kinds, carriedOut, atMs)));
    }
    const toldMs = performance.now();
    for (const message of messages) {
      const { kinds, shards: told, steps } = readPeerMessage(message) as Replication;
      const reader = new StepReader(kinds, steps, policies, texts);
      let end = 0;
      for (const { shard, stepBytes } of told) {
        reader.repeat(copies[shard]!, end, end + stepBytes);
        end += stepBytes;
      }
    }
    const copiedMs = performance.now();
    return {
      bytes: messages.reduce((sum, { text, bytes }) => sum + text.length + bytes!.length, 0) / stepsMeasured,
      ownerUs: (1000 * (toldMs - beginMs)) / stepsMeasured,
      standbyUs: (1000 * (copiedMs - toldMs)) / stepsMeasured,
    };
  };
  // The first time is for the compiler. The second is when nothing of it counts any more: a copy ends at the first step that it would refuse.
  round(startMs);
  return round(startMs + Math.ceil(policies.of(policy).spanMs));
}

/** Copies go by the times that they are told. */
const standingClock: NodeClock = { nowMs: () => startMs, uptimeMs: () => startMs, after: () => () => {} };

function replicationOf({ all: kinds }: Kinds, carriedOut: readonly Steps[], nowMs: number): Replication {
  const id = '0'.repeat(40);
  const shards = carriedOut.map(({ written }, shard) => ({
    shard,
    session: 1000,
    sequence: 1_000_000,
    nowMs,
    stepBytes: written.length,
  }));
  const steps = Buffer.concat(carriedOut.map(({ written }) => written));
  return { kind: 'replicate', to: id, from: id, epoch: 1_000_000, kinds, shards, steps };
}
