/**
 * Windows of an hour and more survive the loss of every node: what is granted under them is written to etcd *ahead*, a chunk at a time.
 *
 *      etcd      │ chunk of 5, to be spent within a minute │ chunk of 5 ... │      written first
 *      memory    │ xxx..                                                          spent from it, without etcd
 *
 * A new owner that knows nothing else counts every chunk as spent, at the latest moment it can have been. So a crash forfeits at most what
 * was left of a chunk for each key, and nobody is refused for a whole window. One transaction per chunk and key; the number of keys that may have
 * chunks is bounded, and beyond it new ones are refused.
 */
import { SluiceError } from 'sluice';
import type { ClusterTime } from './cluster-time.ts';
import type { EtcdRecord, NodeEnvironment } from './environment.ts';
import type { Fences } from './fences.ts';
import { identityOf } from './identity.ts';
import type { OwnedCheck } from './owned-policy.ts';
import type { Shard } from './shard.ts';

interface Chunk {
  readonly id: string;
  readonly cost: number;
  /** In the cluster's time: nothing of it is granted later. */
  readonly spendByMs: number;
}

interface LongRecord {
  readonly name: string;
  readonly key: string;
  /** For how long a chunk counts after it can have been spent. */
  readonly spanMs: number;
  readonly chunks: readonly Chunk[];
  /** The latest moment, in the cluster's time, of what was left out because it was out of the window. A longer window would have to know. */
  readonly forgottenMs?: number | undefined;
}

/** A key of a long window at its owner. */
interface LongKey {
  readonly etcdKey: string;
  /** 0: there is no record; undefined: it is not known. */
  modRevision: number | undefined;
  /** It was known once: what others wrote before that is counted. */
  isRead: boolean;
  chunks: readonly Chunk[];
  /** For how long they are kept: the longest window that the key was ever counted by, for a name may have several policies. */
  spanMs: number;
  forgottenMs: number;
  /** Chunks that we wrote, or may have written: what we grant from them is in our memory. */
  readonly own: Set<string>;
  left: number;
  /** By the node's clock. */
  leftUntilMs: number;
  /** How large the next chunk is, and when the last one was taken. */
  chunkCost: number;
  chunkAtMs: number;
  underWay: Promise<void> | undefined;
}

export interface LongWindowsOptions {
  readonly environment: NodeEnvironment;
  readonly fences: Fences;
  readonly time: ClusterTime;
  /** What the keys of records begin with. */
  readonly prefix: string;
  readonly maxKeys: number;
  readonly timeoutMs: number;
}

// A chunk has to be spent within this, or a sixtieth of the window, whichever is shorter.
const mostSpendMs = 60_000;
// A chunk should last about this long: one write per key in so much time.
const chunkLastsMs = 1000;
const mostTries = 3;
// A record has at most about so many chunks, and those that may still be spent.
const mostSpans = 60;

export class LongWindows {
  private readonly options: LongWindowsOptions;
  private readonly keys = new Map<string, LongKey>();
  private readonly byShard = new Map<number, Set<string>>();
  writes = 0;

  constructor(options: LongWindowsOptions) {
    this.options = options;
  }

  get size(): number {
    return this.keys.size;
  }

  /** Whether a check may be granted from what is written already. */
  covers({ name, key, cost, owned }: OwnedCheck): boolean {
    if (!owned.isDurable || cost === 0) return true;
    const known = this.keys.get(identityOf({ name, key }));
    if (known === undefined) return false;
    if (!this.options.fences.reserveAhead) return known.isRead;
    return known.left >= cost && this.options.environment.clock.nowMs() < known.leftUntilMs;
  }

  /** Whether what earlier owners wrote of a key is counted. */
  isRead({ name, key, owned }: OwnedCheck): boolean {
    return !owned.isDurable || this.keys.get(identityOf({ name, key }))?.isRead === true;
  }

  /** Something was granted. */
  spend({ name, key, cost, owned }: OwnedCheck): void {
    const known = owned.isDurable ? this.keys.get(identityOf({ name, key })) : undefined;
    if (known) known.left -= cost;
  }

  /** Counts what earlier owners wrote of the key, and writes down a chunk that the check can be granted from. False when there is no room for the key. */
  async cover(shard: Shard, check: OwnedCheck): Promise<boolean> {
    const known = this.keyOf(shard, check);
    if (known === undefined) return false;
    while (known.underWay) await known.underWay;
    if (this.covers(check)) return true;
    known.underWay = this.take(shard, known, check).finally(() => {
      known.underWay = undefined;
    });
    await known.underWay;
    return true;
  }

  private keyOf(shard: Shard, { name, key, owned }: OwnedCheck): LongKey | undefined {
    const id = identityOf({ name, key });
    const known = this.keys.get(id);
    if (known) return known;
    if (this.keys.size >= this.options.maxKeys) return undefined;
    const fresh: LongKey = {
      etcdKey: `${this.options.prefix}${shard.number}/${encodeURIComponent(name)}/${encodeURIComponent(key)}`,
      modRevision: undefined,
      isRead: false,
      chunks: [],
      spanMs: 0,
      forgottenMs: Number.NEGATIVE_INFINITY,
      own: new Set(),
      left: 0,
      leftUntilMs: Number.NEGATIVE_INFINITY,
      chunkCost: Math.max(1, Math.ceil(owned.limit / 100)),
      chunkAtMs: Number.NEGATIVE_INFINITY,
      underWay: undefined,
    };
    this.keys.set(id, fresh);
    const ids = this.byShard.get(shard.number) ?? new Set();
    this.byShard.set(shard.number, ids.add(id));
    return fresh;
  }

  private async take(shard: Shard, known: LongKey, check: OwnedCheck): Promise<void> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      if (known.modRevision === undefined) await this.read(shard, known, check);
      // A key that is refused anyway needs no chunk.
      if (!shard.couldTake(check) || !this.options.fences.reserveAhead) return;
      if (await this.write(shard, known, check)) return;
    }
    throw new SluiceError('store-unavailable', 'Others write down the same key at the same time.');
  }

  private async read(shard: Shard, known: LongKey, check: OwnedCheck): Promise<void> {
    const { found } = await this.transact({ compare: [], change: [], read: [{ key: known.etcdKey }] });
    this.learn(shard, known, check, found[0]?.[0]);
  }

  /** What the record says that we do not know of has been spent by others. */
  private learn(shard: Shard, known: LongKey, check: OwnedCheck, record: EtcdRecord | undefined): void {
    const { time } = this.options;
    const found = record ? (JSON.parse(record.value) as LongRecord) : undefined;
    const { chunks, spanMs, forgottenMs = Number.NEGATIVE_INFINITY } = found ?? { chunks: [], spanMs: 0 };
    const counted = new Set(known.chunks.map(({ id }) => id));
    // A shard that came with its state came with what was granted from the chunks of earlier owners.
    const isInState = !known.isRead && (shard.isSettled(check) || shard.isCertainFor(check.owned.spanMs));
    const others = isInState ? [] : chunks.filter(({ id }) => !known.own.has(id) && !counted.has(id));
    if (isBucket(check)) emptyBucket(shard, check, others, time.nowMs());
    else for (const { cost, spendByMs } of others) shard.charge(check, cost, spendByMs - time.nowMs());
    // A window that was made longer since: what it should know of may have been everything.
    const isForgotten = !isInState && !known.isRead && forgottenMs + check.owned.spanMs > time.nowMs();
    if (isForgotten) shard.charge(check, check.owned.limit, forgottenMs - time.nowMs());
    known.forgottenMs = Math.max(known.forgottenMs, forgottenMs);
    known.chunks = chunks;
    known.spanMs = Math.max(known.spanMs, spanMs, check.owned.spanMs);
    known.modRevision = record?.modRevision ?? 0;
    known.isRead = true;
    shard.settle(check);
  }

  private async write(shard: Shard, known: LongKey, check: OwnedCheck): Promise<boolean> {
    const { environment, time } = this.options;
    const spanMs = Math.max(known.spanMs, check.owned.spanMs);
    const sentMs = environment.clock.nowMs();
    // A chunk that was used up quickly was too small, and one that was not was too large.
    const isQuick = sentMs - known.chunkAtMs < chunkLastsMs;
    const most = Math.max(1, Math.floor(check.owned.limit / 10));
    const sized = isQuick ? known.chunkCost * 2 : Math.ceil(known.chunkCost / 2);
    known.chunkCost = Math.max(1, Math.min(most, sized));
    const cost = Math.max(check.cost, known.chunkCost);
    const spendMs = Math.min(mostSpendMs, check.owned.spanMs / 60);
    const chunk: Chunk = { id: tokenOf(environment.random), cost, spendByMs: time.nowMs() + spendMs };
    known.own.add(chunk.id);
    const live = known.chunks.filter(({ spendByMs }) => spendByMs + spanMs > time.nowMs());
    const left = known.chunks.filter((one) => !live.includes(one)).map(({ spendByMs }) => spendByMs);
    known.forgottenMs = Math.max(known.forgottenMs, ...left);
    const merged = mergedChunks(live, time.nowMs(), spanMs / mostSpans);
    // What is in them is in our memory, whoever wrote their parts.
    for (const { id } of merged) known.own.add(id);
    const forgottenMs = Number.isFinite(known.forgottenMs) ? known.forgottenMs : undefined;
    const record: LongRecord = { name: check.name, key: check.key, spanMs, chunks: [...merged, chunk], forgottenMs };
    const modRevision = known.modRevision!;
    // Until the outcome is known, nothing is: what is in etcd then has to be read again.
    known.modRevision = undefined;
    this.writes += 1;
    const outcome = await this.transact({
      compare: [{ key: known.etcdKey, modRevision }],
      change: [{ put: known.etcdKey, value: JSON.stringify(record) }],
      read: [{ key: known.etcdKey }],
    });
    this.learn(shard, known, check, outcome.found[0]?.[0]);
    for (const id of known.own) if (!known.chunks.some((other) => other.id === id)) known.own.delete(id);
    if (!outcome.succeeded) return false;
    const isOver = sentMs >= known.leftUntilMs;
    known.left = (isOver ? 0 : known.left) + cost;
    known.leftUntilMs = isOver ? sentMs + spendMs : known.leftUntilMs;
    known.chunkAtMs = sentMs;
    return true;
  }

  private transact(transaction: Parameters<NodeEnvironment['etcd']['transact']>[0]) {
    return this.options.environment.etcd.transact(transaction, this.options.timeoutMs);
  }

  /** Removes the records of a shard that no longer matter. Says how many. */
  async sweep(shard: number): Promise<number> {
    const { time, prefix } = this.options;
    const { found } = await this.transact({
      compare: [],
      change: [],
      read: [{ key: `${prefix}${shard}/`, isPrefix: true }],
    });
    let removed = 0;
    for (const { key, value, modRevision } of found[0] ?? []) {
      const { name, key: own, spanMs, chunks } = JSON.parse(value) as LongRecord;
      if (chunks.some(({ spendByMs }) => spendByMs + spanMs > time.nowMs())) continue;
      await this.transact({ compare: [{ key, modRevision }], change: [{ delete: key }], read: [] });
      this.forgetKey(identityOf({ name, key: own }), shard);
      removed += 1;
    }
    return removed;
  }

  private forgetKey(id: string, shard: number): void {
    this.keys.delete(id);
    this.byShard.get(shard)?.delete(id);
  }

  /** The shard is no longer ours. */
  forget(shard: number): void {
    for (const id of this.byShard.get(shard) ?? []) this.keys.delete(id);
    this.byShard.delete(shard);
  }
}

/**
 * Chunks that can no longer be spent, a span's worth in one: a record stays small however long a window is. Each counts from the latest of its
 * parts on, so none is forgotten too early.
 */
function mergedChunks(chunks: readonly Chunk[], nowMs: number, spanMs: number): readonly Chunk[] {
  const bySpan = new Map<number, Chunk>();
  const rest: Chunk[] = [];
  for (const chunk of chunks) {
    const span = Math.floor(chunk.spendByMs / spanMs);
    const other = bySpan.get(span);
    if (chunk.spendByMs >= nowMs) rest.push(chunk);
    else if (other === undefined) bySpan.set(span, chunk);
    else {
      const spendByMs = Math.max(other.spendByMs, chunk.spendByMs);
      bySpan.set(span, { id: other.id, cost: other.cost + chunk.cost, spendByMs });
    }
  }
  return [...bySpan.values(), ...rest];
}

const buckets: readonly string[] = ['gcra', 'token-bucket', 'leaky-bucket'];

function isBucket({ owned }: OwnedCheck): boolean {
  return buckets.includes((owned.policy as { algorithm: string }).algorithm);
}

/**
 * What a bucket holds comes from longer ago than its chunks are kept: how full it was when the last of them was spent is not known, and it was
 * not less than empty.
 */
function emptyBucket(shard: Shard, check: OwnedCheck, others: readonly Chunk[], nowMs: number): void {
  if (others.length === 0) return;
  const latestMs = Math.max(...others.map(({ spendByMs }) => spendByMs));
  shard.charge(check, check.owned.limit, latestMs - nowMs);
}

function tokenOf(random: () => number): string {
  return Math.floor(random() * 2 ** 48).toString(36);
}
