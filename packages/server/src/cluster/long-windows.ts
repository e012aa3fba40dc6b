/**
 * Windows of an hour and more survive the loss of every node: what is granted under them is written to etcd *ahead*, a chunk at a time.
 *
 *      etcd      │ chunk of 5, to be spent within a minute │ chunk of 5 ... │      written first
 *      memory    │ xxx..                                                          spent from it, without etcd
 *
 * A new owner that knows nothing else counts every chunk as spent, at the latest moment it can have been. So a crash forfeits at most what
 * was left of a chunk for each key (of a bucket, also what has come in since: `chargeBucket`), and nobody is refused for a whole window. One
 * transaction per chunk and key; the number of keys that may have chunks is bounded, and beyond it new ones are refused.
 *
 *      <prefix>slot/<slot, binary>/key/<name>/<key>      the chunks of a key
 *      <prefix>slot/<slot, binary>/forgotten             until when something was granted there whose record is gone
 *
 * By slot and not by shard, because slots are the same whatever the number of shards; in binary, because any stretch of slots is a few prefixes then.
 */
import { SluiceError } from 'sluice';
import { slotOf } from 'sluice/client';
import type { ClusterTime } from './cluster-time.ts';
import type { Change, EtcdRecord, NodeEnvironment } from './environment.ts';
import type { Fences } from './fences.ts';
import { identityOf } from './identity.ts';
import type { OwnedCheck } from './owned-policy.ts';
import type { Shard } from './shard.ts';
import { firstSlotOf, slots } from './shards.ts';

interface Chunk {
  readonly id: string;
  /** 0: a mark (`markOf`). */
  readonly cost: number;
  /** In the cluster's time, whoever reads it: nothing of it is granted later. */
  readonly spendByMs: number;
  /** Whoever wrote the record last counted it as spent when he read it: a copy of his state that was begun before has nothing of it. */
  readonly isApart?: true | undefined;
}

interface LongRecord {
  readonly name: string;
  readonly key: string;
  /** By whom it was written last. All that was granted from its chunks is in his state, and told to his standby, except of those that are apart. */
  readonly ownership: string;
  /** For how long a chunk counts after it can have been spent. */
  readonly spanMs: number;
  readonly chunks: readonly Chunk[];
  /** The latest moment, in the cluster's time, of what was left out because it was out of the window. A longer window would have to know. */
  readonly forgottenMs?: number | undefined;
}

/** Of a slot: what was granted under a name, whose records are gone. */
interface Forgotten {
  readonly name: string;
  /** Of the window that it is out of. */
  readonly spanMs: number;
  /** In the cluster's time: nothing of it was granted later. */
  readonly forgottenMs: number;
}

/** A key of a long window at its owner. */
interface LongKey {
  readonly shard: number;
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
  /** Chunks of others that are in our memory because we counted them, and so in no copy that was begun before. */
  readonly apart: Set<string>;
  left: number;
  /** By the node's clock, and by the cluster's time: whichever comes first. The cluster's may jump, where others have come further. */
  leftUntilMs: number;
  leftByMs: number;
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
  /** How many shards there are. */
  readonly shards: number;
  readonly maxKeys: number;
  readonly timeoutMs: number;
}

// A chunk has to be spent within this, or a sixtieth of the window, whichever is shorter.
const mostSpendMs = 60_000;
// A chunk should last about this long: one write per key in so much time.
const chunkLastsMs = 1000;
const mostTries = 3;
// A record has at most about so many chunks of its owner, and as many that are apart.
const mostSpans = 60;
// Keys that were read and have no record take no place; so many are remembered at least, so that they need not be read again at once.
const fewIdle = 64;
// How many records are removed at once: a transaction of etcd has at most 128 operations.
const mostRemoved = 50;
// For how long a slot remembers that records are gone, and of how many names. A window that is made longer than this finds nothing.
const mostForgottenMs = 31 * 86_400_000;
const mostForgotten = 16;
// An ownership is known for so long, or the longest window that was written under it. Where it is known no more, all chunks count.
const fewestOwnershipMs = 86_400_000;

export class LongWindows {
  private readonly options: LongWindowsOptions;
  private readonly keys = new Map<string, LongKey>();
  /** Those of them that have no record, the longest known first. */
  private readonly idle = new Set<string>();
  private readonly byShard = new Map<number, Set<string>>();
  /** Of the shard as it is, not of its number: what was begun under one must not be written down under the next. */
  private readonly ownerships = new WeakMap<Shard, string>();
  writes = 0;

  constructor(options: LongWindowsOptions) {
    this.options = options;
  }

  /** How many keys have a place. */
  get size(): number {
    return this.keys.size - this.idle.size;
  }

  /**
   * A shard is ours from now on; `ownership` is like no other, before or after. It travels with the state to standbys and later owners: whoever has it
   * has what we grant from our chunks, as far as it says itself (`Shard.promote`).
   */
  own(shard: Shard, ownership: string): void {
    this.ownerships.set(shard, ownership);
    shard.settle(ownershipName(ownership));
  }

  /** Whether a check may be granted from what is written already. */
  covers({ name, key, cost, owned }: OwnedCheck): boolean {
    if (!owned.isDurable || cost === 0) return true;
    const known = this.keys.get(identityOf({ name, key }));
    if (known === undefined) return false;
    if (!this.options.fences.reserveAhead) return known.isRead;
    return known.left >= cost && !this.isOver(known);
  }

  /** Nothing of what is left may be granted any more. */
  private isOver({ leftUntilMs, leftByMs }: LongKey): boolean {
    const { environment, time } = this.options;
    return environment.clock.nowMs() >= leftUntilMs || time.nowMs() >= leftByMs;
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
    const id = identityOf(check);
    for (;;) {
      const known = this.keyOf(id, shard, check);
      if (known === undefined) return false;
      if (known.underWay === undefined) {
        if (this.covers(check)) return true;
        known.underWay = this.take(shard, known, check).finally(() => {
          known.underWay = undefined;
          this.vacate(id, known);
        });
        await known.underWay;
        return true;
      }
      // It may have lost its place by the time the other is done.
      await known.underWay;
    }
  }

  private keyOf(id: string, shard: Shard, { name, key, owned }: OwnedCheck): LongKey | undefined {
    const known = this.keys.get(id);
    if (known && !this.idle.has(id)) return known;
    if (this.size >= this.options.maxKeys) return undefined;
    if (known) {
      this.idle.delete(id);
      return known;
    }
    const fresh: LongKey = {
      shard: shard.number,
      etcdKey: `${this.slotPrefix(key)}key/${encodeURIComponent(name)}/${encodeURIComponent(key)}`,
      modRevision: undefined,
      isRead: false,
      chunks: [],
      spanMs: 0,
      forgottenMs: Number.NEGATIVE_INFINITY,
      own: new Set(),
      apart: new Set(),
      left: 0,
      leftUntilMs: Number.NEGATIVE_INFINITY,
      leftByMs: Number.NEGATIVE_INFINITY,
      chunkCost: Math.max(1, Math.ceil(owned.limit / 100)),
      chunkAtMs: Number.NEGATIVE_INFINITY,
      underWay: undefined,
    };
    this.keys.set(id, fresh);
    const ids = this.byShard.get(shard.number) ?? new Set();
    this.byShard.set(shard.number, ids.add(id));
    return fresh;
  }

  /** A key that was refused, or not even read, has nothing in etcd that would ever be removed: its place is for others. */
  private vacate(id: string, known: LongKey): void {
    if (this.keys.get(id) !== known || known.chunks.length > 0 || known.own.size > 0) return;
    if (!known.isRead) {
      this.forgetKey(id);
      return;
    }
    this.idle.add(id);
    const [oldest] = this.idle;
    if (this.idle.size > Math.max(fewIdle, this.options.maxKeys)) this.forgetKey(oldest!);
  }

  private slotPrefix(key: string): string {
    return `${this.options.prefix}slot/${slotText(slotOf(key))}/`;
  }

  private isForgottenKey(etcdKey: string): boolean {
    return etcdKey.slice(`${this.options.prefix}slot/`.length + slotBits) === '/forgotten';
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
    const read = [{ key: known.etcdKey }, { key: `${this.slotPrefix(check.key)}forgotten` }];
    const { found } = await this.transact({ compare: [], change: [], read });
    const gone = forgottenIn(found[1]?.[0]).filter(
      ({ name, spanMs }) => name === check.name && spanMs < check.owned.spanMs,
    );
    this.learn(shard, known, check, found[0]?.[0], gone);
  }

  /** What the record says that we do not know of has been spent by others. */
  private learn(
    shard: Shard,
    known: LongKey,
    check: OwnedCheck,
    record: EtcdRecord | undefined,
    gone: readonly Forgotten[] = [],
  ): void {
    const nowMs = this.options.time.nowMs();
    const found = record ? (JSON.parse(record.value) as LongRecord) : undefined;
    const chunks = found?.chunks ?? [];
    const counted = new Set(known.chunks.map(({ id }) => id));
    // A shard that came with its state came with what was granted from the chunks of earlier owners.
    const isInState = !known.isRead && (shard.isSettled(check) || shard.isCertainFor(check.owned.spanMs));
    // Its latest owner may have read the key after the copy was begun that we have of his state: what he granted was told, what he read was not.
    const isTold = found !== undefined && shard.isSettled(ownershipName(found.ownership));
    const others = chunks.filter(
      ({ id, isApart }) => !isInState && !known.own.has(id) && !counted.has(id) && !(isTold && !isApart),
    );
    if (check.owned.isBucket) chargeBucket(shard, check, others, chunks, nowMs);
    else for (const { cost, spendByMs } of others) shard.charge(check, cost, spendByMs - nowMs);
    for (const chunk of chunks) if (chunk.isApart || others.includes(chunk)) known.apart.add(chunk.id);
    // A window that was made longer since: what it should know of may have been everything.
    const forgottenMs = Math.max(...[found, ...gone].map((one) => one?.forgottenMs ?? Number.NEGATIVE_INFINITY));
    const isForgotten = !isInState && forgottenMs > known.forgottenMs && forgottenMs + check.owned.spanMs > nowMs;
    if (isForgotten) shard.charge(check, check.owned.limit, forgottenMs - nowMs);
    known.forgottenMs = Math.max(known.forgottenMs, forgottenMs);
    known.chunks = chunks;
    known.spanMs = Math.max(known.spanMs, found?.spanMs ?? 0, check.owned.spanMs);
    known.modRevision = record?.modRevision ?? 0;
    known.isRead = true;
    shard.settle(check);
  }

  private async write(shard: Shard, known: LongKey, check: OwnedCheck): Promise<boolean> {
    const { environment, time } = this.options;
    const spanMs = Math.max(known.spanMs, check.owned.spanMs);
    const sentMs = environment.clock.nowMs();
    const nowMs = time.nowMs();
    // A chunk that was used up quickly was too small, and one that was not was too large.
    const isQuick = sentMs - known.chunkAtMs < chunkLastsMs;
    const most = Math.max(1, Math.floor(check.owned.limit / 10));
    const sized = isQuick ? known.chunkCost * 2 : Math.ceil(known.chunkCost / 2);
    known.chunkCost = Math.max(1, Math.min(most, sized));
    const cost = Math.max(check.cost, known.chunkCost);
    const spendMs = Math.min(mostSpendMs, check.owned.spanMs / 60);
    // Whoever reads it may have come further than we have.
    const chunk: Chunk = { id: tokenOf(environment.random), cost, spendByMs: nowMs + spendMs + time.lagMs };
    known.own.add(chunk.id);
    const live = known.chunks.filter(({ spendByMs }) => spendByMs + spanMs > nowMs);
    const left = known.chunks.filter((one) => !live.includes(one));
    known.forgottenMs = Math.max(known.forgottenMs, ...left.map(({ spendByMs }) => spendByMs));
    const mark = check.owned.isBucket && !shard.isAsNew(check) ? markOf(left, known.apart) : [];
    const merged = [...mark, ...mergedChunks(live, known.apart, spanMs / mostSpans)];
    // What is in them is in our memory, whoever wrote their parts.
    for (const { id } of merged) known.own.add(id);
    const record: LongRecord = {
      name: check.name,
      key: check.key,
      ownership: this.ownershipOf(shard, spanMs),
      spanMs,
      chunks: [...merged, chunk],
      forgottenMs: Number.isFinite(known.forgottenMs) ? known.forgottenMs : undefined,
    };
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
    for (const ids of [known.own, known.apart])
      for (const id of ids) if (!known.chunks.some((other) => other.id === id)) ids.delete(id);
    if (!outcome.succeeded) return false;
    const isOver = sentMs >= known.leftUntilMs || nowMs >= known.leftByMs;
    known.left = (isOver ? 0 : known.left) + cost;
    known.leftUntilMs = isOver ? sentMs + spendMs : known.leftUntilMs;
    known.leftByMs = isOver ? nowMs + spendMs : known.leftByMs;
    known.chunkAtMs = sentMs;
    return true;
  }

  /** Said to the shard again each time: it forgets what it has not heard of for long. */
  private ownershipOf(shard: Shard, spanMs: number): string {
    const ownership = this.ownerships.get(shard) ?? '';
    if (ownership !== '') shard.settle(ownershipName(ownership, spanMs));
    return ownership;
  }

  private transact(transaction: Parameters<NodeEnvironment['etcd']['transact']>[0]) {
    return this.options.environment.etcd.transact(transaction, this.options.timeoutMs);
  }

  /** Removes the records of a shard that no longer matter, and gives their places to others. Says how many. */
  async sweep(shard: number): Promise<number> {
    const { prefix, shards, time } = this.options;
    const prefixes = prefixesOf(firstSlotOf(shard, shards), firstSlotOf(shard + 1, shards));
    const read = prefixes.map((slot) => ({ key: `${prefix}slot/${slot}`, isPrefix: true }));
    const { found } = await this.transact({ compare: [], change: [], read });
    const records = found.flat();
    const isLive = ({ spendByMs }: Chunk, spanMs: number) => spendByMs + spanMs > time.nowMs();
    const present = new Set(records.map(({ key }) => key));
    for (const id of this.byShard.get(shard) ?? []) {
      const known = this.keys.get(id)!;
      const isNeeded = known.underWay !== undefined || known.chunks.some((chunk) => isLive(chunk, known.spanMs));
      if (!isNeeded && !present.has(known.etcdKey)) this.forgetKey(id);
    }
    const forgotten = new Map(
      records.filter(({ key }) => this.isForgottenKey(key)).map((record) => [record.key, record]),
    );
    const dead = records
      .filter(({ key }) => !this.isForgottenKey(key))
      .map((record) => ({ ...record, ...(JSON.parse(record.value) as LongRecord), etcdKey: record.key }))
      .filter(({ chunks, spanMs }) => !chunks.some((chunk) => isLive(chunk, spanMs)));
    const removed = await this.remove(dead.slice(0, mostRemoved), forgotten);
    if (shard === 0) await this.removeNumbered();
    return removed;
  }

  /** All of them or none: one that was written to meanwhile is looked at again next time, and so are the others. */
  private async remove(
    dead: readonly (LongRecord & { readonly etcdKey: string; readonly modRevision: number })[],
    forgotten: ReadonlyMap<string, EtcdRecord>,
  ): Promise<number> {
    const nowMs = this.options.time.nowMs();
    const bySlot = new Map<string, readonly Forgotten[]>();
    for (const { name, key, spanMs, chunks, forgottenMs = Number.NEGATIVE_INFINITY } of dead) {
      const slot = `${this.slotPrefix(key)}forgotten`;
      const latestMs = Math.max(forgottenMs, ...chunks.map(({ spendByMs }) => spendByMs));
      const before = bySlot.get(slot) ?? forgottenIn(forgotten.get(slot));
      bySlot.set(slot, withForgotten(before, { name, spanMs, forgottenMs: latestMs }));
    }
    // Those of slots where nothing else happens.
    for (const [slot, record] of forgotten) {
      const isOld = forgottenIn(record).every(({ forgottenMs }) => forgottenMs + mostForgottenMs <= nowMs);
      if (isOld && !bySlot.has(slot) && bySlot.size + dead.length < 2 * mostRemoved) bySlot.set(slot, []);
    }
    if (bySlot.size === 0) return 0;
    const slotChanges = Array.from(
      bySlot,
      ([slot, all]): Change => (all.length === 0 ? { delete: slot } : { put: slot, value: JSON.stringify(all) }),
    );
    const { succeeded } = await this.transact({
      compare: [
        ...dead.map(({ etcdKey: key, modRevision }) => ({ key, modRevision })),
        ...Array.from(bySlot.keys(), (key) => ({ key, modRevision: forgotten.get(key)?.modRevision ?? 0 })),
      ],
      change: [...dead.map(({ etcdKey }): Change => ({ delete: etcdKey })), ...slotChanges],
      read: [],
    });
    if (!succeeded) return 0;
    for (const { name, key } of dead) {
      const id = identityOf({ name, key });
      if (this.keys.get(id)?.underWay === undefined) this.forgetKey(id);
    }
    return dead.length;
  }

  /** Records that were kept by the number of their shard, before any release: nobody reads them. */
  private async removeNumbered(): Promise<void> {
    const read = Array.from({ length: 10 }, (_, digit) => ({ key: `${this.options.prefix}${digit}`, isPrefix: true }));
    const { found } = await this.transact({ compare: [], change: [], read });
    const old = found.flat().slice(0, mostRemoved);
    if (old.length === 0) return;
    await this.transact({ compare: [], change: old.map(({ key }) => ({ delete: key })), read: [] });
  }

  private forgetKey(id: string): void {
    const known = this.keys.get(id);
    if (known === undefined) return;
    this.keys.delete(id);
    this.idle.delete(id);
    this.byShard.get(known.shard)?.delete(id);
  }

  /** The shard is no longer ours. */
  forget(shard: number): void {
    for (const id of this.byShard.get(shard) ?? []) this.forgetKey(id);
    this.byShard.delete(shard);
  }
}

/**
 * Chunks that end at about the same time, in one: a record stays small however long a window is, and however many owners it had. Each counts from
 * the latest of its parts on, so none is forgotten too early.
 */
function mergedChunks(chunks: readonly Chunk[], apart: ReadonlySet<string>, spanMs: number): readonly Chunk[] {
  const merged = new Map<string, Chunk>();
  for (const { id, cost, spendByMs } of chunks) {
    const isApart = apart.has(id) || undefined;
    const span = `${Math.floor(spendByMs / spanMs)} ${isApart}`;
    const other = merged.get(span) ?? { id, cost: 0, spendByMs };
    const latestMs = Math.max(other.spendByMs, spendByMs);
    merged.set(span, { id: other.id, cost: other.cost + cost, spendByMs: latestMs, isApart });
  }
  return [...merged.values()];
}

/**
 * What an owner read of a bucket, and a copy of his state has not, is missing there until the bucket was full, however long ago it was. So while it was
 * not, the last chunk of that kind stays in the record though it counts no more: as a mark, of no cost.
 */
function markOf(left: readonly Chunk[], apart: ReadonlySet<string>): readonly Chunk[] {
  const latest = left.filter(({ id }) => apart.has(id)).sort((a, b) => b.spendByMs - a.spendByMs)[0];
  return latest ? [{ id: latest.id, cost: 0, spendByMs: latest.spendByMs, isApart: true }] : [];
}

function forgottenIn(record: EtcdRecord | undefined): readonly Forgotten[] {
  return record ? (JSON.parse(record.value) as readonly Forgotten[]) : [];
}

/** One for each name and span, the latest; of too many names the latest. */
function withForgotten(all: readonly Forgotten[], one: Forgotten): readonly Forgotten[] {
  const isSame = ({ name, spanMs }: Forgotten) => name === one.name && spanMs === one.spanMs;
  const forgottenMs = Math.max(one.forgottenMs, ...all.filter(isSame).map((other) => other.forgottenMs));
  return [...all.filter((other) => !isSame(other)), { ...one, forgottenMs }]
    .sort((a, b) => b.forgottenMs - a.forgottenMs)
    .slice(0, mostForgotten);
}

const slotBits = Math.log2(slots);

function slotText(slot: number): string {
  return slot.toString(2).padStart(slotBits, '0');
}

/** What the slots from one up to another begin with in binary: the fewest beginnings that have them all, and no others. */
export function prefixesOf(firstSlot: number, endSlot: number): string[] {
  const prefixes: string[] = [];
  for (let slot = firstSlot; slot < endSlot; ) {
    let bits = 0;
    while (bits < slotBits && slot % 2 ** (bits + 1) === 0 && slot + 2 ** (bits + 1) <= endSlot) bits += 1;
    prefixes.push(slotText(slot).slice(0, slotBits - bits));
    slot += 2 ** bits;
  }
  return prefixes;
}

/** A name for an ownership among those of keys that are settled. It has to be known for as long as chunks count that were written under it. */
function ownershipName(ownership: string, ofSpanMs = 0) {
  const spanMs = Math.max(ofSpanMs, fewestOwnershipMs);
  return { name: '\u0000ownership', key: ownership, owned: { spanMs } };
}

/**
 * What a bucket holds comes from longer ago than its chunks are kept. But they are kept for as long as it takes to fill, and a bucket that was empty
 * before the first of them would have been full again by the last, had nobody used it:
 *
 *      missing at the end  =  missing at the start (a bucketful at most)  +  chunks  -  what came in meanwhile (a bucketful at least)  <=  chunks
 *
 * and where it was full in between, less. So no more is missing than all chunks together. Where only some of them are to be counted, the others are in
 * the state, and what came in since is counted there once already: then nothing is known but that it was not less than empty. Not when the first of
 * those was spent but when the last was: in between it may have been full in the state, which has forgotten it then.
 */
function chargeBucket(
  shard: Shard,
  check: OwnedCheck,
  others: readonly Chunk[],
  all: readonly Chunk[],
  nowMs: number,
): void {
  if (others.length === 0) return;
  const { limit } = check.owned;
  const latestMs = Math.max(...all.map(({ spendByMs }) => spendByMs));
  const spent = others.reduce((sum, { cost }) => sum + cost, 0);
  shard.charge(check, others.length === all.length ? Math.min(limit, spent) : limit, latestMs - nowMs);
}

function tokenOf(random: () => number): string {
  return Math.floor(random() * 2 ** 48).toString(36);
}
