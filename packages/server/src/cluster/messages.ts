/** What nodes say to each other: plain data that survives JSON, and the bytes of `steps` beside it. Each message names whom it is for; a successor at the same address refuses it. */
import type { Decision, Snapshot } from 'sluice';
import type { SavedDone } from './done-once.ts';
import type { SavedReceipts } from './receipts.ts';
import type { WireKind } from './steps.ts';
import type { WireCheck } from './wire-check.ts';

export type PeerMessage =
  /** Checks whose keys the addressee owns. */
  | { readonly kind: 'apply'; readonly to: string; readonly checks: readonly WireCheck[]; readonly requestId?: string }
  /** The state of shards that are about to be the addressee's: kept, and used only if the slot table says that this offer was taken. */
  | {
      readonly kind: 'offer';
      readonly to: string;
      readonly from: string;
      readonly token: string;
      readonly shards: readonly ShardState[];
    }
  /** The slot table as it is since a revision: whoever changed it says so, and nobody has to wait for his next look at etcd. */
  | { readonly kind: 'table'; readonly to: string; readonly revision: number; readonly table: string }
  /** What an owner did since its last message, for the copy that the addressee keeps. */
  | Replication;

export interface Replication {
  readonly kind: 'replicate';
  readonly to: string;
  readonly from: string;
  /** Of the owner: a copy is of one owner's time. */
  readonly epoch: number;
  readonly kinds: readonly WireKind[];
  readonly shards: readonly ShardReplication[];
  /** What was carried out since, in order, of one shard after the other (step-bytes.ts). */
  readonly steps: Uint8Array;
}

export interface ShardReplication {
  readonly shard: number;
  /** Counts up each time the copy starts anew; `sequence` counts the messages of a session. */
  readonly session: number;
  readonly sequence: number;
  /** The owner's time for this shard when it was sent. */
  readonly nowMs: number;
  /** Everything, at the start of a session. */
  readonly state?: ShardState;
  /** How much of the message's steps is about this shard. */
  readonly stepBytes: number;
}

export interface ShardState {
  readonly shard: number;
  /** The giver's time for this shard: what is in the state is as old as this says, whatever the taker's clock shows. */
  readonly nowMs: number;
  /** What the giver itself does not know, on its time for the shard. */
  readonly doubts: readonly Doubt[];
  /** Keys of long windows that are not in doubt. */
  readonly settled: readonly string[];
  /** For how long each of them counts, in the same order. */
  readonly settledSpansMs?: readonly number[];
  /** How far ahead of a standby the keys of each name may ever have been. */
  readonly lags?: readonly (readonly [name: string, lag: number])[];
  /** Buckets from which what may be missing was taken: for the doubts up to which, and until when that matters, on the giver's time. */
  readonly charged?: readonly (readonly [id: string, sinceMs: number, untilMs: number])[];
  /** Of all policies that were asked for in this shard: for how long something that was granted may count. */
  readonly longestSpanMs?: number;
  readonly receipts?: SavedReceipts;
  /** What was done here that is done once, and until when that matters, on the giver's time. */
  readonly done?: SavedDone;
  /** A memory store's snapshot. */
  readonly snapshot: Snapshot;
}

/**
 * Something that others may have granted before `sinceMs` and that is not in the state: all there was (`'all'`), or so much of each key as an
 * owner may be ahead of its standby (`'lag'`).
 */
export interface Doubt {
  readonly sinceMs: number;
  readonly about: 'all' | 'lag';
}

export type PeerReply =
  | { readonly kind: 'decisions'; readonly decisions: readonly WireDecision[] }
  | { readonly kind: 'done' }
  /** Of a replication: the copies that have all of it, by shard; the others have to start anew. */
  | { readonly kind: 'copied'; readonly shards: readonly number[] }
  /** Not carried out: it is not the addressee's to do. */
  | { readonly kind: 'not-mine' }
  /** Not carried out: it is being handed over. Whoever asks again in a moment finds its next owner. */
  | { readonly kind: 'moving' }
  /** Not carried out, for the reason given. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** A decision without what the asker knows; `null` is Infinity, which JSON has not. */
export type WireDecision = Omit<Decision, 'policy' | 'retryAfterMs' | 'resetAfterMs'> & {
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number | null;
};
