/**
 * What a standby keeps: for each shard whose standby this node is, the owner's state, made of its latest snapshot and of everything the owner
 * did since, done again.
 */
import type { NodeClock } from './environment.ts';
import type { Fences } from './fences.ts';
import type { Replication, ShardReplication } from './messages.ts';
import type { OwnedPolicies } from './owned-policy.ts';
import { Shard } from './shard.ts';
import { StepReader } from './steps.ts';
import type { PolicyTexts } from './wire-check.ts';

interface Copy {
  readonly epoch: number;
  readonly session: number;
  sequence: number;
  readonly shard: Shard;
  /** It is not what the owner has. Kept all the same, so that messages of earlier sessions are known for what they are. */
  isBroken: boolean;
}

export class Copies {
  private readonly copies = new Map<number, Copy>();
  private readonly clock: NodeClock;
  private readonly fences: Fences;
  private readonly policies: OwnedPolicies;
  private readonly texts: PolicyTexts;
  private readonly maxKeys: number;

  constructor(clock: NodeClock, fences: Fences, policies: OwnedPolicies, texts: PolicyTexts, maxKeys: number) {
    this.clock = clock;
    this.fences = fences;
    this.policies = policies;
    this.texts = texts;
    this.maxKeys = maxKeys;
  }

  /** The shards of the message whose copy has all of it now. Only of whom the slot table calls their owner: a later owner may be an older node. */
  receive(message: Replication, isOwner: (shard: number, epoch: number) => boolean): number[] {
    const { epoch, kinds, shards, steps } = message;
    const reader = new StepReader(kinds, steps, this.policies, this.texts);
    const copied: number[] = [];
    let end = 0;
    for (const replication of shards) {
      const start = end;
      end += replication.stepBytes;
      if (this.fences.copySessions && !isOwner(replication.shard, epoch)) continue;
      const repeat = (copy: Shard) => reader.repeat(copy, start, end);
      if (this.tryShard(epoch, replication, repeat)) copied.push(replication.shard);
    }
    return copied;
  }

  /** One that cannot be kept, as where there is room for fewer keys than at its owner, says nothing of the others. */
  private tryShard(epoch: number, replication: ShardReplication, repeat: (copy: Shard) => boolean): boolean {
    try {
      return this.receiveShard(epoch, replication, repeat);
    } catch {
      const copy = this.copies.get(replication.shard);
      if (copy) copy.isBroken = true;
      return false;
    }
  }

  private receiveShard(epoch: number, replication: ShardReplication, repeat: (copy: Shard) => boolean): boolean {
    const { shard, session, sequence, nowMs, state } = replication;
    let copy = this.copies.get(shard);
    if (copy && this.fences.copySessions) {
      // Of a copy that was begun anew since.
      if (epoch === copy.epoch && session < copy.session) return false;
      const isSame = epoch === copy.epoch && session === copy.session;
      if (isSame && copy.isBroken) return false;
      if (isSame && sequence <= copy.sequence) return true;
      if (isSame && sequence !== copy.sequence + 1) return false;
      if (!isSame && state === undefined) return false;
    }
    if (state !== undefined) {
      const begun = Shard.of(state, this.clock, this.maxKeys, this.asideFor(state.nowMs));
      copy = { epoch, session, sequence, shard: begun, isBroken: false };
      this.copies.set(shard, copy);
    }
    if (copy === undefined) return false;
    if (!repeat(copy.shard)) {
      // No room here for what the owner has room for: the copy must not be taken for the whole.
      copy.isBroken = true;
      return false;
    }
    copy.sequence = sequence;
    copy.shard.moveClock(this.asideFor(nowMs));
    return true;
  }

  /** What our clock must be moved by to show the owner's time for the shard, at most: the owner's was later when we heard of it. */
  private asideFor(theirNowMs: number): number {
    return this.fences.agesNotDates ? theirNowMs - this.clock.nowMs() : 0;
  }

  /** The copy of a shard as the owner with this epoch had it; it is no longer kept here. */
  take(shard: number, epoch: number): Shard | undefined {
    const copy = this.copies.get(shard);
    this.copies.delete(shard);
    return copy?.epoch === epoch && !copy.isBroken ? copy.shard : undefined;
  }

  drop(isOver: (shard: number, epoch: number) => boolean): void {
    for (const [shard, { epoch }] of this.copies) if (isOver(shard, epoch)) this.copies.delete(shard);
  }

  get size(): number {
    return this.copies.size;
  }
}
