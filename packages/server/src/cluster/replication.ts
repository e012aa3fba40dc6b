/**
 * The owner's side of its standbys: what was carried out is told to them, and a key that is too far ahead waits.
 *
 *      check ──► carried out ──► answered at once, as long as the key is not more than `lag` ahead of its copy
 *                     │                  └─ else, and always for what must be copied (steps.ts), when the copy has caught up
 *                     └──► told to the standby with the rest of the moment ──► confirmed
 *
 * A link begins with the whole state; once that is confirmed, etcd is told that there is a standby. A link that breaks is taken back in etcd
 * first: until then keys wait, because whoever takes over would trust the copy.
 */
import { type Check, SluiceError } from 'sluice';
import { Ahead } from './ahead.ts';
import type { NodeEnvironment } from './environment.ts';
import type { Fences } from './fences.ts';
import type { Replication, ShardReplication } from './messages.ts';
import type { OwnedCheck, OwnedPolicy } from './owned-policy.ts';
import type { Shard } from './shard.ts';
import { mostStateBytes, stateBytes } from './state-bytes.ts';
import { costOf, Kinds, mustBeCopied, Steps } from './steps.ts';

/** Whom a shard is copied to. */
export interface StandbyNode {
  readonly id: string;
  readonly address: string;
}

/**
 * `copying`: the state is on its way. `closing`: it is there, and keys that are too far ahead wait. `copied`: none is, and etcd is to be told.
 * `recorded`: etcd says so. `broken`: etcd is to be told that it is over.
 */
type LinkPhase = 'copying' | 'closing' | 'copied' | 'recorded' | 'broken';

/** What the next message to an address will say once for all of its shards. */
interface Outbox {
  kinds: Kinds;
}

interface Link {
  readonly shard: Shard;
  readonly standby: StandbyNode;
  /** The same one for all links to an address. */
  readonly outbox: Outbox;
  readonly session: number;
  phase: LinkPhase;
  /** Etcd may say that there is a standby. */
  isTold: boolean;
  sequence: number;
  /** Of the message that is being made. */
  steps: Steps;
  /** Of the one that is on its way. */
  told: Steps;
  /** A key of these is on its way to where it would have to wait. */
  isPressing: boolean;
  isStateSent: boolean;
  /** Of the message on its way and the one that is being made. */
  readonly ahead: Ahead;
  /** The message with which everything is confirmed that was answered before keys had to wait. */
  closedBy: number;
  /** Nobody needs the copy any more: the next owner has it all, or no slot table names the standby. */
  isOver: boolean;
  /** Who waits until everything so far is confirmed. */
  waiters: Waiter[];
}

interface Waiter {
  settle(isConfirmed: boolean): void;
}

interface Sent {
  readonly link: Link;
  readonly sequence: number;
  readonly waiters: Waiter[];
}

/** What etcd has to be told, by shard: that its standby is this one, or that it has none (`undefined`). */
export type StandbyEdits = ReadonlyMap<number, StandbyNode | undefined>;

// How many whole shards go into one message.
const mostStates = 16;
// How soon the standby is told. Each message costs something, whatever is in it, and a crash costs no more for those that come late: what a key may be ahead
// by is bounded in any case. Only a key that is half way there is told of sooner.
export const tellEveryMs = 20;
const pressingMs = 5;

export class Standbys {
  private readonly environment: NodeEnvironment;
  private readonly fences: Fences;
  private readonly patienceMs: number;
  private readonly self: () => { readonly id: string; readonly epoch: number };
  private readonly links = new Map<number, Link>();
  /** By the address of the standby: whether a message is on its way. */
  private readonly busy = new Set<string>();
  private sessions = 0;
  /** When the next message is made. */
  private planned: { readonly ms: number; readonly atMs: number; callOff(): void } | undefined;
  private isStopped = false;

  constructor(
    environment: NodeEnvironment,
    fences: Fences,
    patienceMs: number,
    self: () => { readonly id: string; readonly epoch: number },
  ) {
    this.environment = environment;
    this.fences = fences;
    this.patienceMs = patienceMs;
    this.self = self;
  }

  /** Begins to copy a shard. */
  begin(shard: Shard, standby: StandbyNode): void {
    if (this.links.has(shard.number)) return;
    this.sessions += 1;
    const link: Link = {
      shard,
      standby,
      outbox: this.outboxOf(standby.address),
      session: this.sessions,
      phase: 'copying',
      isTold: false,
      sequence: 0,
      steps: new Steps(),
      told: new Steps(),
      isPressing: false,
      isStateSent: false,
      ahead: new Ahead(
        (visit) => link.told.forEachCost(visit),
        (visit) => link.steps.forEachCost(visit),
      ),
      closedBy: Number.POSITIVE_INFINITY,
      isOver: false,
      waiters: [],
    };
    this.links.set(shard.number, link);
    this.flushSoon(0);
  }

  private outboxOf(address: string): Outbox {
    for (const { standby, outbox } of this.links.values()) if (standby.address === address) return outbox;
    return { kinds: new Kinds() };
  }

  /** Whom a shard is being copied to. */
  standbyOf(shard: number): StandbyNode | undefined {
    const link = this.links.get(shard);
    return link?.phase === 'broken' ? undefined : link?.standby;
  }

  /** The shard is no longer ours. With `isMoved`, its next owner has all that was carried out: whoever waited for the standby need not. */
  forget(shard: number, isMoved = false): void {
    const link = this.links.get(shard);
    if (link === undefined) return;
    this.links.delete(shard);
    link.isOver = isMoved;
    for (const waiter of link.waiters) waiter.settle(isMoved);
  }

  /** A standby that is not wanted any more, or does not answer. */
  break(shard: number): void {
    const link = this.links.get(shard);
    if (link === undefined || link.phase === 'broken') return;
    if (link.isTold && this.fences.lossRecordedFirst) {
      link.phase = 'broken';
      // What is carried out from here on is told to nobody, and bounded all the same.
      link.ahead.countByKey();
    } else this.release(link);
  }

  private release(link: Link): void {
    this.links.delete(link.shard.number);
    // Also for those whose message is on its way, whatever becomes of it.
    link.isOver = true;
    for (const waiter of link.waiters) waiter.settle(true);
  }

  /** What etcd has to be told now. */
  edits(): StandbyEdits {
    const edits = new Map<number, StandbyNode | undefined>();
    for (const [shard, { phase, standby }] of this.links) {
      if (phase === 'copied') edits.set(shard, standby);
      else if (phase === 'broken') edits.set(shard, undefined);
    }
    return edits;
  }

  /** Etcd is about to be told. */
  telling(edits: StandbyEdits): void {
    for (const [shard, standby] of edits) {
      const link = this.links.get(shard);
      if (link && standby) link.isTold = true;
    }
  }

  /** Etcd has been told. */
  told(edits: StandbyEdits): void {
    for (const [shard, standby] of edits) {
      const link = this.links.get(shard);
      if (link === undefined) continue;
      if (standby === undefined && link.phase === 'broken') this.release(link);
      else if (standby?.id === link.standby.id && link.phase === 'copied') link.phase = 'recorded';
    }
  }

  /** What a later slot table says of a shard's standby: one that somebody else took out, because it is silent, is none any more. */
  seen(shard: number, standbyId: string | undefined): void {
    const link = this.links.get(shard);
    if (link?.phase === 'recorded' && standbyId !== link.standby.id) this.release(link);
  }

  /**
   * Something was carried out: it is told to the standby. A promise where the answer has to wait until the standby has it; it rejects where that
   * did not come to pass.
   */
  carriedOut(shard: number, checks: readonly OwnedCheck[]): Promise<void> | undefined {
    const link = this.links.get(shard);
    if (link === undefined || !link.isStateSent) return undefined;
    if (link.phase !== 'broken') link.steps.addBatch(link.shard.decidedMs, checks);
    const most = checks.map((check) => link.ahead.add(check.name, check.key, costOf(check)));
    let isTooFar = false;
    for (const [i, check] of checks.entries())
      if (this.isTooFar(link, most[i]!, check, check.owned) || mustBeCopied(check)) isTooFar = true;
    return this.willBeTold(link, isTooFar);
  }

  /** The same of one plain check. */
  carriedOutPlain(shard: number, check: Check, owned: OwnedPolicy): Promise<void> | undefined {
    const link = this.links.get(shard);
    if (link === undefined || !link.isStateSent) return undefined;
    const { name, key, cost } = check;
    if (link.phase !== 'broken')
      link.steps.addPlain(link.outbox.kinds, link.shard.decidedMs, name, key, cost, owned.policy);
    return this.willBeTold(link, this.isTooFar(link, link.ahead.add(name, key, cost), check, owned));
  }

  /** `most`: the key is no further ahead than that. */
  private isTooFar(link: Link, most: number, { name, key }: Check, { lag }: OwnedPolicy): boolean {
    if (2 * most <= lag) return false;
    const aheadBy = link.ahead.of(name, key);
    if (2 * aheadBy > lag) link.isPressing = true;
    return aheadBy > lag;
  }

  private willBeTold(link: Link, isTooFar: boolean): Promise<void> | undefined {
    if (link.phase !== 'broken') this.flushSoon(link.isPressing ? pressingMs : tellEveryMs);
    return isTooFar && this.fences.boundedLag && link.phase !== 'copying' ? this.confirmed(link) : undefined;
  }

  private confirmed(link: Link): Promise<void> {
    this.flushSoon(0);
    return new Promise((resolve, reject) => {
      const failed = () =>
        reject(new SluiceError('store-unavailable', 'The standby did not confirm in time; the call counts as used.'));
      const callOff = this.environment.clock.after(this.patienceMs, failed);
      link.waiters.push({
        settle(isConfirmed) {
          callOff();
          if (isConfirmed) resolve();
          else failed();
        },
      });
    });
  }

  private flushSoon(ms: number): void {
    // What was planned for no later, and earlier, comes before: no need to read the clock for each grant.
    if (this.isStopped || (this.planned && this.planned.ms <= ms)) return;
    const { clock } = this.environment;
    const atMs = clock.nowMs() + ms;
    if (this.planned && this.planned.atMs <= atMs) return;
    this.planned?.callOff();
    const callOff = clock.after(ms, () => {
      this.planned = undefined;
      if (!this.isStopped) this.flush();
    });
    this.planned = { ms, atMs, callOff };
  }

  private flush(): void {
    const byAddress = new Map<string, Link[]>();
    for (const link of this.links.values()) {
      const { address } = link.standby;
      if (!isDue(link) || this.busy.has(address)) continue;
      const others = byAddress.get(address);
      if (others === undefined) byAddress.set(address, [link]);
      else others.push(link);
    }
    for (const [address, links] of byAddress) {
      const fresh = links.filter(({ isStateSent }) => !isStateSent).slice(0, mostStates);
      void this.send(address, [...links.filter(({ isStateSent }) => isStateSent), ...fresh]);
    }
  }

  private async send(address: string, links: readonly Link[]): Promise<void> {
    const sent: Sent[] = [];
    const shards: ShardReplication[] = [];
    const parts: Uint8Array[] = [];
    const { outbox, standby } = links[0]!;
    // All that was carried out for this address since the last message is in this one.
    const { kinds } = outbox;
    outbox.kinds = new Kinds();
    let stateBytesSent = 0;
    for (const link of links) {
      const { shard, session, isStateSent, steps, told, waiters } = link;
      // The others come with the next message. The first one goes with this one, however large it is: with whatever else there is to tell, there would
      // never be a message that is its own.
      if (!isStateSent && stateBytesSent >= mostStateBytes) continue;
      const state = isStateSent ? undefined : shard.state();
      stateBytesSent += state === undefined ? 0 : stateBytes(state);
      link.sequence += 1;
      sent.push({ link, sequence: link.sequence, waiters });
      link.told = steps;
      // What was told before is confirmed.
      told.clear();
      link.steps = told;
      link.ahead.tell();
      link.isPressing = false;
      link.waiters = [];
      link.isStateSent = true;
      const { written } = steps;
      parts.push(written);
      const entry = {
        shard: shard.number,
        session,
        sequence: link.sequence,
        nowMs: shard.nowMs(),
        stepBytes: written.length,
      };
      shards.push(state === undefined ? entry : { ...entry, state });
    }
    this.busy.add(address);
    const { id, epoch } = this.self();
    const steps = Buffer.concat(parts);
    const copied = await this.ask(address, {
      kind: 'replicate',
      to: standby.id,
      from: id,
      epoch,
      kinds: kinds.all,
      shards,
      steps,
    });
    this.busy.delete(address);
    if (this.isStopped) return;
    for (const one of sent) this.confirm(one, copied.has(one.link.shard.number));
    this.flushRest(address);
  }

  /** What came up while a message was on its way had to wait for the answer. */
  private flushRest(address: string): void {
    for (const link of this.links.values()) {
      if (link.standby.address !== address || !isDue(link)) continue;
      const isAwaited = link.waiters.length > 0 || !link.isStateSent;
      this.flushSoon(isAwaited ? 0 : link.isPressing ? pressingMs : tellEveryMs);
    }
  }

  /** The shards whose copies are up to date; none when there was no answer. */
  private async ask(address: string, message: Replication): Promise<ReadonlySet<number>> {
    try {
      const reply = await this.environment.peers.ask(address, message, this.patienceMs);
      return new Set(reply.kind === 'copied' ? reply.shards : []);
    } catch (error) {
      this.environment.log.debug({ standby: address, error: (error as Error).message }, 'the standby does not answer');
      return new Set();
    }
  }

  private confirm({ link, sequence, waiters }: Sent, isCopied: boolean): void {
    if (this.links.get(link.shard.number) !== link) {
      for (const waiter of waiters) waiter.settle(link.isOver || isCopied);
      return;
    }
    if (!isCopied) {
      link.waiters.push(...waiters);
      this.break(link.shard.number);
      return;
    }
    link.told.clear();
    link.ahead.confirm();
    if (link.phase === 'copying') {
      link.phase = 'closing';
      // What was answered until now without waiting is in the messages up to this one; from here on keys that are too far ahead wait.
      link.closedBy = link.sequence + (link.steps.isEmpty ? 0 : 1);
    }
    if (link.phase === 'closing' && (sequence >= link.closedBy || !this.fences.boundedLag)) link.phase = 'copied';
    for (const waiter of waiters) waiter.settle(true);
  }

  /** How many shards have a standby that etcd knows of. */
  get recorded(): number {
    return [...this.links.values()].filter(({ phase }) => phase === 'recorded').length;
  }

  get size(): number {
    return this.links.size;
  }

  stop(): void {
    this.isStopped = true;
    for (const link of this.links.values()) for (const waiter of link.waiters) waiter.settle(false);
    this.links.clear();
  }
}

/** Whether there is something to tell. */
function isDue({ steps, isStateSent, phase }: Link): boolean {
  return phase !== 'broken' && (!steps.isEmpty || !isStateSent);
}
