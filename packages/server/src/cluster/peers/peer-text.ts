/**
 * What nodes say to each other, as text: JSON, and what a standby is told as bytes beside it. What arrives is looked at before it is believed, as far as a node would stumble over it;
 * policies and snapshots are read by those who know them (`parsePolicy`, a store's `restore`).
 */
import { SluiceError, type Snapshot } from 'sluice';
import type { Doubt, PeerMessage, PeerReply, ShardReplication, ShardState, WireDecision } from '../messages.ts';
import type { SavedReceipts } from '../receipts.ts';
import { mostShards } from '../shards.ts';
import { checkShape } from '../wire-check.ts';
import {
  anything,
  below,
  exactly,
  type Fields,
  flag,
  listOf,
  mustFit,
  number,
  object,
  oneOfKinds,
  orAbsent,
  orNull,
  type Shape,
  text,
  tupleOf,
  whole,
} from './shape.ts';

/** The longest message, in bytes. A shard travels in one piece, and one with a large log for each of its keys takes several megabytes. */
export const mostMessageBytes = 32 * 1024 * 1024;

const state = object<ShardState>({
  shard: below(mostShards),
  nowMs: number,
  doubts: listOf(object<Doubt>({ sinceMs: number, about: exactly('all', 'lag') })),
  settled: listOf(text),
  settledSpansMs: orAbsent(listOf(number)),
  lags: orAbsent(listOf(tupleOf(text, number))),
  charged: orAbsent(listOf(tupleOf(text, number, number))),
  longestSpanMs: orAbsent(number),
  receipts: orAbsent(object<SavedReceipts>({ latest: whole, voids: listOf(tupleOf(whole, whole)) })),
  done: orAbsent(listOf(tupleOf(text, number))),
  snapshot: object<Pick<Snapshot, 'version' | 'names'>>({ version: number, names: listOf(anything) }),
});

const replication = object<ShardReplication>({
  shard: below(mostShards),
  session: whole,
  sequence: whole,
  nowMs: number,
  state: orAbsent(state),
  stepBytes: below(mostMessageBytes),
});

type Kinds<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: Fields<Extract<T, { readonly kind: K }>>;
};

const messages: Kinds<PeerMessage> = {
  apply: { kind: text, to: text, checks: listOf(checkShape), requestId: orAbsent(text) },
  offer: { kind: text, to: text, from: text, token: text, shards: listOf(state) },
  table: { kind: text, to: text, revision: whole, table: text },
  replicate: {
    kind: text,
    to: text,
    from: text,
    epoch: whole,
    kinds: listOf(tupleOf(text, text)),
    shards: listOf(replication),
    // They come beside the text.
    steps: anything,
  },
};

const decision = object<
  Pick<WireDecision, 'allowed' | 'limit' | 'remaining' | 'retryAfterMs' | 'resetAfterMs' | 'delayMs' | 'rule'>
>({
  allowed: flag,
  limit: orNull(number),
  remaining: orNull(number),
  retryAfterMs: orNull(number),
  resetAfterMs: orNull(number),
  delayMs: number,
  rule: text,
});

const replies: Kinds<PeerReply> = {
  decisions: { kind: text, decisions: listOf(decision) },
  done: { kind: text },
  copied: { kind: text, shards: listOf(below(mostShards)) },
  'not-mine': { kind: text },
  moving: { kind: text },
  failed: { kind: text, code: text, message: text },
};

const messageShape = oneOfKinds(mapped(messages));
const replyShape = oneOfKinds(mapped(replies));

/** A message as it travels: its text, and with some kinds bytes beside it. */
export interface WrittenMessage {
  readonly text: string;
  readonly bytes?: Uint8Array;
}

export function writePeerMessage(message: PeerMessage): WrittenMessage {
  if (message.kind !== 'replicate') return { text: JSON.stringify(message) };
  const { steps: bytes, ...rest } = message;
  return { text: JSON.stringify(rest), bytes };
}

export function readPeerMessage({ text: json, bytes }: WrittenMessage): PeerMessage {
  const message = read(json, messageShape, 'message') as PeerMessage;
  if (message.kind !== 'replicate') {
    if (bytes !== undefined)
      throw new SluiceError('invalid-option', `message of kind ${message.kind} must be text alone`);
    return message;
  }
  const told = message.shards.reduce((sum, { stepBytes }) => sum + stepBytes, 0);
  if (bytes?.length !== told)
    throw new SluiceError('invalid-option', `message.steps must be ${told} bytes, got ${bytes?.length ?? 'none'}`);
  return { ...message, steps: bytes };
}

export function readPeerReply(json: string): PeerReply {
  return read(json, replyShape, 'reply') as PeerReply;
}

function read(json: string, shape: Shape, field: string): unknown {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (error) {
    throw new SluiceError('invalid-option', `${field} must be JSON`, { cause: error });
  }
  mustFit(shape, data, field);
  return data;
}

function mapped(kinds: Readonly<Record<string, Fields<object>>>): Record<string, Shape> {
  return Object.fromEntries(Object.entries(kinds).map(([kind, fields]) => [kind, object(fields)]));
}
