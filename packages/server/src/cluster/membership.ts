/**
 * What etcd says, and this node's part in it: its own record, renewed; the others' records, watched; the slot table.
 *
 * One transaction at a time: each needs to know what the one before it changed. Whatever etcd is asked, the answer brings all that changed, so
 * that nothing else has to be watched.
 */
import { ClusterTime } from './cluster-time.ts';
import type {
  Change,
  Comparison,
  EtcdRecord,
  NodeEnvironment,
  Transaction,
  TransactionOutcome,
} from './environment.ts';
import type { Fences } from './fences.ts';
import { type ClusterKeys, type KnownNode, keysOf, type NodeRecord, nodeOfRecord } from './records.ts';
import { Right, silenceMs } from './right.ts';
import type { ClusterSettings } from './settings.ts';
import {
  edited,
  emptyTable,
  type NodeReference,
  parseTable,
  type ShardEdit,
  type SlotTable,
  tableText,
} from './slot-table.ts';
import type { NodeAddresses } from './view.ts';

/** `unknown`: it may have happened, or may yet happen. */
export type Outcome = 'done' | 'refused' | 'unknown';

export interface MembershipEvents {
  /** The slot table is another one. */
  table(table: SlotTable, revision: number): void;
}

interface Watched {
  readonly modRevision: number;
  /** When it was first seen so. */
  readonly sinceMs: number;
}

export class Membership {
  readonly right: Right;
  readonly time: ClusterTime;
  readonly keys: ClusterKeys;
  /** As of the latest answer. */
  nodes: readonly KnownNode[] = [];
  table: SlotTable | undefined;
  revision = 0;
  /** Etcd's, when the nodes were looked at last. */
  private lookedAt = 0;
  self: NodeReference;
  /** We have no record: not yet, or no more. Somebody else may have ended our membership. */
  isDeposed = true;
  isLeaving = false;
  /** Why the latest question to etcd was not answered, in a few words; undefined: it was. */
  trouble: string | undefined;
  private troubleSinceMs = 0;
  /** Those that were told of, since etcd answered last. */
  private readonly toldTroubles = new Set<string>();
  private isStopped = false;
  private modRevision = 0;
  private readonly environment: NodeEnvironment;
  private readonly fences: Fences;
  private readonly settings: ClusterSettings;
  private readonly addresses: NodeAddresses;
  private readonly events: MembershipEvents;
  private watched = new Map<string, Watched>();
  private learnedMs = Number.NEGATIVE_INFINITY;
  private turn: Promise<unknown> = Promise.resolve();
  private looking: Promise<unknown> | undefined;

  constructor(
    environment: NodeEnvironment,
    fences: Fences,
    settings: ClusterSettings,
    addresses: NodeAddresses,
    events: MembershipEvents,
  ) {
    this.environment = environment;
    this.fences = fences;
    this.settings = settings;
    this.addresses = addresses;
    this.events = events;
    this.keys = keysOf(settings.name);
    this.time = new ClusterTime(environment.clock, settings.ttlMs);
    this.right = new Right(environment.clock, settings, fences);
    this.self = { id: '', epoch: 0, ttlMs: settings.ttlMs, addresses };
  }

  private get timeoutMs(): number {
    return this.settings.ttlMs / 4;
  }

  /** One after the other, whatever became of the one before. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.turn.then(work, work);
    this.turn = next.catch(() => undefined);
    return next;
  }

  private record(): string {
    const { id } = this.self;
    const { addresses, isLeaving, settings } = this;
    const record: NodeRecord = { id, addresses, ttlMs: settings.ttlMs, isLeaving, timeMs: this.time.nowMs() };
    return JSON.stringify(record);
  }

  private compared(...comparisons: Comparison[]): readonly Comparison[] {
    return this.fences.compareRevisions ? comparisons : [];
  }

  private mine(): Comparison {
    return { key: this.keys.nodeOf(this.self.id), modRevision: this.modRevision };
  }

  /** Becomes a node of the cluster under a new name. False when etcd did not answer; try again. */
  join(): Promise<boolean> {
    return this.inTurn(async () => {
      const { clock, random } = this.environment;
      this.right.end();
      this.self = { ...this.self, id: hexadecimal(40, random), epoch: 0 };
      const sentMs = clock.nowMs();
      const asleepMs = this.right.sleepSoFar();
      const own = this.keys.nodeOf(this.self.id);
      const outcome = await this.ask({
        compare: [{ key: own, modRevision: 0 }],
        change: [{ put: own, value: this.record() }],
        read: this.keys.readEverything(),
      });
      if (!outcome?.succeeded) return false;
      this.self = { ...this.self, epoch: outcome.revision };
      this.modRevision = outcome.revision;
      this.isDeposed = false;
      this.learn(outcome);
      this.right.renewed(sentMs, asleepMs);
      return true;
    });
  }

  /** Nobody has ever been here: all shards are ours, as far as nobody else was quicker. */
  found(): Promise<Outcome> {
    return this.inTurn(async () => {
      if (this.table !== undefined) return 'done';
      const all = new Map<number, ShardEdit>();
      const empty = emptyTable(this.settings.shared);
      for (let shard = 0; shard < empty.owners.length; shard += 1) all.set(shard, { owner: this.self });
      return this.change(
        [{ key: this.keys.slots, modRevision: 0 }],
        [this.putTable(edited(empty, all, this.time.nowMs()))],
      );
    });
  }

  /** Nobody has anything any more: whoever is there alone may begin anew, with settings of its own. */
  foundAnew(): Promise<Outcome> {
    return this.inTurn(async () => {
      if (this.table === undefined || this.table.nodes.length > 0 || this.nodes.length !== 1) return 'refused';
      const { revision } = this;
      const empty = { ...emptyTable(this.settings.shared), timeMs: this.table.timeMs };
      const all = new Map(empty.owners.map((_, shard): [number, ShardEdit] => [shard, { owner: this.self }]));
      return this.change(
        [{ key: this.keys.slots, modRevision: revision }, this.mine()],
        [this.putTable(edited(empty, all, this.time.nowMs()))],
      );
    });
  }

  /** Says that we are still there. */
  renew(): Promise<Outcome> {
    return this.inTurn(async () => {
      const sentMs = this.environment.clock.nowMs();
      const asleepMs = this.right.sleepSoFar();
      const outcome = await this.ask({
        compare: this.compared(this.mine()),
        change: [{ put: this.mine().key, value: this.record() }],
        read: this.readings(),
      });
      if (outcome === undefined) {
        if (!this.fences.unknownRenewalIsNone) this.right.renewed(sentMs, asleepMs);
        return 'unknown';
      }
      this.learn(outcome);
      if (!outcome.succeeded) return 'refused';
      this.right.renewed(sentMs, asleepMs);
      return 'done';
    });
  }

  /**
   * Changes the slot table, if it is still the one that the edits were made for. With `undefined` for edits there is nothing to do; with an empty map the
   * table is written again as it is, which rules out every change that is still on its way.
   */
  edit(
    editsFor: (table: SlotTable) => ReadonlyMap<number, ShardEdit> | undefined,
    and: { readonly compare?: readonly Comparison[]; readonly change?: readonly Change[] } = {},
  ): Promise<Outcome> {
    return this.inTurn(async () => {
      const edits = this.table && editsFor(this.table);
      if (edits === undefined) return 'refused';
      return this.change(
        [{ key: this.keys.slots, modRevision: this.revision }, this.mine(), ...(and.compare ?? [])],
        [this.putTable(edited(this.table!, edits, this.time.nowMs())), ...(and.change ?? [])],
      );
    });
  }

  /** Takes the own record back. */
  leave(): Promise<Outcome> {
    return this.inTurn(() => this.change([this.mine()], [{ delete: this.mine().key }]));
  }

  /** Learns what has changed, and changes nothing: one question to etcd for all who wait for it. */
  look(): Promise<unknown> {
    this.looking ??= this.inTurn(() => this.change([], [])).finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private putTable(table: SlotTable): Change {
    return { put: this.keys.slots, value: tableText(table) };
  }

  private async change(compare: readonly Comparison[], change: readonly Change[]): Promise<Outcome> {
    const outcome = await this.ask({ compare: this.compared(...compare), change, read: this.readings() });
    if (outcome === undefined) return 'unknown';
    this.learn(outcome);
    return outcome.succeeded ? 'done' : 'refused';
  }

  private readings() {
    return this.keys.readEverything(
      this.fences.tableNeverGoesBack && this.revision > 0 ? this.revision + 1 : undefined,
    );
  }

  private async ask(transaction: Transaction): Promise<TransactionOutcome | undefined> {
    try {
      const outcome = await this.environment.etcd.transact(transaction, this.timeoutMs);
      this.etcdAnswered();
      return outcome;
    } catch (error) {
      this.etcdFailed(error as Error);
      return undefined;
    }
  }

  /** A cause is told once, however often etcd is asked in vain, and of many only the first few: the latest is in `trouble`. */
  private etcdFailed(error: Error): void {
    const { clock, log } = this.environment;
    // Whoever stops ends what is under way: that is no news.
    if (this.isStopped) return;
    if (this.trouble === undefined) this.troubleSinceMs = clock.nowMs();
    this.trouble = fewWords(error);
    const isNew = !this.toldTroubles.has(this.trouble) && this.toldTroubles.size < mostToldTroubles;
    if (isNew) this.toldTroubles.add(this.trouble);
    log[isNew ? 'warn' : 'debug']({ error: error.message }, 'etcd cannot be used; it is asked again and again');
  }

  private etcdAnswered(): void {
    if (this.trouble === undefined) return;
    const { clock, log } = this.environment;
    this.trouble = undefined;
    this.toldTroubles.clear();
    log.info({ afterMs: Math.round(clock.nowMs() - this.troubleSinceMs) }, 'etcd can be used again');
  }

  /** Nothing is decided any more, and nothing said. */
  stop(): void {
    this.isStopped = true;
    this.right.end();
  }

  private learn({ revision, found: [records = [], slots = []] }: TransactionOutcome): void {
    const nowMs = this.environment.clock.nowMs();
    // Whoever could not hear anybody for long, because etcd was away, has not heard anybody being silent.
    const before = nowMs - this.learnedMs > this.settings.ttlMs / 2 ? new Map<string, Watched>() : this.watched;
    this.learnedMs = nowMs;
    this.nodes = records.flatMap((record) => this.readNode(record));
    this.lookedAt = revision;
    for (const { timeMs, ttlMs } of this.nodes) this.time.seen(timeMs, ttlMs);
    this.watched = new Map();
    for (const { id, modRevision } of this.nodes) this.watch(id, modRevision, before, nowMs);
    const own = this.nodes.find(({ id, epoch }) => id === this.self.id && epoch === this.self.epoch);
    if (own) this.modRevision = own.modRevision;
    else this.isDeposed = true;
    const [record] = slots;
    if (record) this.adopt(record.value, record.modRevision);
    // Who is in the table and has no record: his right may still last, so he is watched like the others.
    for (const { id, epoch } of this.table?.nodes ?? []) {
      if (!this.nodes.some((node) => node.id === id && node.epoch === epoch))
        this.watch(goneName(id), 0, before, nowMs);
    }
  }

  /** A record that is none must not keep the others from being read. */
  private readNode(record: EtcdRecord): KnownNode[] {
    try {
      return [nodeOfRecord(record)];
    } catch (error) {
      this.environment.log.error(
        { key: record.key, error: (error as Error).message },
        'this is no record of a node; remove it',
      );
      return [];
    }
  }

  private watch(name: string, modRevision: number, before: ReadonlyMap<string, Watched>, nowMs: number): void {
    const known = before.get(name);
    this.watched.set(name, known?.modRevision === modRevision ? known : { modRevision, sinceMs: nowMs });
  }

  /** The slot table of a revision, from etcd or from whoever changed it. */
  adopt(text: string, revision: number): void {
    if (revision <= this.revision && this.fences.tableNeverGoesBack) return;
    this.table = parseTable(text);
    this.time.seen(this.table.timeMs);
    this.revision = revision;
    this.events.table(this.table, revision);
  }

  /** For how long a node's record has been seen unchanged. */
  silentForMs({ id }: { readonly id: string }): number {
    const watched = this.watched.get(id);
    return watched ? this.environment.clock.nowMs() - watched.sinceMs : 0;
  }

  /** The others whose right has certainly ended. */
  silent(): readonly KnownNode[] {
    return this.nodes.filter((node) => node.id !== this.self.id && this.silentForMs(node) > this.silenceOf(node.ttlMs));
  }

  /** Those in the table that have no record, and can have no right either. */
  gone(): readonly NodeReference[] {
    return (this.table?.nodes ?? []).filter(({ id, epoch, ttlMs }) => {
      if (this.nodes.some((node) => node.id === id && node.epoch === epoch)) return false;
      const watched = this.watched.get(goneName(id));
      return watched !== undefined && this.environment.clock.nowMs() - watched.sinceMs > this.silenceOf(ttlMs);
    });
  }

  private silenceOf(ttlMs: number): number {
    return silenceMs(ttlMs, this.fences);
  }

  /** A node that can be asked: by its record, or by a slot table that is younger than our look at the records. */
  reach(reference: NodeReference | undefined): KnownNode | undefined {
    const node = this.nodeOf(reference) ?? this.unrecorded(reference);
    return node && !this.isPredecessor(node) ? node : undefined;
  }

  private unrecorded(reference: NodeReference | undefined): KnownNode | undefined {
    if (!reference?.addresses || this.revision <= this.lookedAt) return undefined;
    return { ...reference, addresses: reference.addresses, isLeaving: false, modRevision: 0, timeMs: 0 };
  }

  /** Another run at our own address: it is gone, or we could not be here. Whoever asks for it would find us. */
  isPredecessor({ id, addresses }: Pick<KnownNode, 'id' | 'addresses'>): boolean {
    return addresses.resp === this.addresses.resp && id !== this.self.id;
  }

  nodeOf(reference: NodeReference | undefined): KnownNode | undefined {
    return this.nodes.find(({ id, epoch }) => id === reference?.id && epoch === reference.epoch);
  }
}

function goneName(id: string): string {
  return `gone ${id}`;
}

// The first may be that it was slow, and the next why. And each member may have a cause of its own.
const mostToldTroubles = 3;
// Enough to say what is wrong, on a line.
const mostTroubleCharacters = 200;

/** The cause, without what became of the transaction. What etcd, or whatever is in its place, has said is not ours: it stays on a line, and short. */
function fewWords({ message, cause }: Error): string {
  const text = cause instanceof Error ? cause.message : message;
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, mostTroubleCharacters);
}

function hexadecimal(length: number, random: () => number): string {
  return Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');
}
