/**
 * A planned change of owner, from the old owner's side.
 *
 *      freeze ──► offer the state ──► slot table: theirs, by this offer ──► done: they go on where we stopped
 *                      │ no                    │ refused      │ nobody knows
 *                      ▼                       ▼              ▼
 *                     thaw                    thaw       rule it out in etcd, then thaw; if the right ends before, once it is renewed
 *
 * From the freeze on nothing is decided here, so the offered state is the last word, and calls wait for whoever has it in the end.
 */
import { type NodeEnvironment, pause } from './environment.ts';
import type { Fences } from './fences.ts';
import type { Membership, Outcome } from './membership.ts';
import type { ShardState } from './messages.ts';
import type { KnownNode } from './records.ts';
import type { Shard } from './shard.ts';
import { offerOrigin, ownerOf } from './slot-table.ts';
import { mostStateBytes, stateBytes } from './state-bytes.ts';

export interface HandOverParts {
  readonly environment: NodeEnvironment;
  readonly fences: Fences;
  readonly membership: Membership;
  /** How long the other node may take to keep an offer: calls wait for it. */
  readonly offerMs: number;
}

// The taker may have renewed its record since we saw it.
const mostTries = 3;
// Between two attempts to rule out a change whose outcome is not known.
const pauseMs = 20;

/** Gives shards to another node, as many of them as fit into one offer. Those that are its own now; none when they are ours again. */
export async function handOver(
  parts: HandOverParts,
  candidates: readonly Shard[],
  to: KnownNode,
): Promise<readonly Shard[]> {
  const states: ShardState[] = [];
  let bytes = 0;
  for (const shard of candidates) {
    const state = shard.state();
    bytes += stateBytes(state);
    if (bytes > mostStateBytes && states.length > 0) break;
    states.push(state);
  }
  const shards = candidates.slice(0, states.length);
  return (await give(parts, shards, states, to)) ? shards : [];
}

async function give(
  parts: HandOverParts,
  shards: readonly Shard[],
  states: readonly ShardState[],
  to: KnownNode,
): Promise<boolean> {
  const { environment, fences, membership, offerMs } = parts;
  const token = tokenOf(environment.random);
  const { self } = membership;
  if (fences.freezeBeforeHandOver) for (const shard of shards) shard.isFrozen = true;
  try {
    const offer = { kind: 'offer', to: to.id, from: self.id, token, shards: states } as const;
    const reply = await environment.peers.ask(to.addresses.resp, offer, offerMs);
    if (reply.kind !== 'done') return thaw(shards);
  } catch (error) {
    environment.log.debug(
      { to: to.addresses.resp, error: (error as Error).message },
      'an offer of shards was not answered',
    );
    return thaw(shards);
  }
  for (const shard of shards) {
    // Whatever else is to be frozen: the state must not have changed since it was taken.
    shard.isFrozen = true;
    shard.offeredAs = token;
  }
  const owner = { id: to.id, epoch: to.epoch, ttlMs: to.ttlMs, addresses: to.addresses };
  const edit = { owner, origin: offerOrigin(token), standby: null };
  const isStillOurs = () => shards.every((shard) => ownerOf(membership.table!, shard.number)?.epoch === self.epoch);
  const given = () => (isStillOurs() ? new Map(shards.map((shard) => [shard.number, edit])) : undefined);
  let outcome: Outcome = 'refused';
  for (let tries = 0; tries < mostTries && outcome === 'refused' && isStillOurs(); tries += 1) {
    // Whoever leaves at this very moment must not be given anything: nobody would have it.
    const taker = membership.nodeOf(owner);
    if (taker === undefined || taker.isLeaving) break;
    const compare = [{ key: membership.keys.nodeOf(taker.id), modRevision: taker.modRevision }];
    outcome = await membership.edit(given, { compare });
  }
  if (outcome === 'done') return true;
  if (outcome === 'unknown' && fences.ruleOutBeforeThaw) return settle(parts, shards, self.epoch);
  return isStillOurs() && thaw(shards);
}

/** Makes sure that a change whose outcome is not known either has happened or never will. */
async function settle(
  { environment, membership }: HandOverParts,
  shards: readonly Shard[],
  epoch: number,
): Promise<boolean> {
  // Without the right nothing is decided here anyway, and whoever takes over assumes the worst. If nobody does, and the right is renewed, the
  // duties go on from here: renewals wait for this.
  while (membership.self.epoch === epoch && !membership.isDeposed && membership.right.leftMs() > 0) {
    if (await ruleOut(membership, shards)) return shards.every(({ isFrozen }) => isFrozen);
    await pause(environment.clock, pauseMs);
  }
  return false;
}

/**
 * Rules out every change that is still on its way, and thaws those of the shards that are ours still. False when it is not known either whether that
 * has happened.
 */
export async function ruleOut(membership: Membership, shards: readonly Shard[]): Promise<boolean> {
  const { epoch } = membership.self;
  const outcome = await membership.edit(() => new Map());
  if (outcome === 'unknown' || membership.isDeposed) return false;
  // Refused: the table, or our record, is another one by now, and the change was made for the one before. Done: likewise.
  thaw(shards.filter((shard) => ownerOf(membership.table!, shard.number)?.epoch === epoch));
  return true;
}

function thaw(shards: readonly Shard[]): false {
  for (const shard of shards) shard.isFrozen = false;
  return false;
}

function tokenOf(random: () => number): string {
  return Array.from({ length: 4 }, () => Math.floor(random() * 2 ** 32).toString(36)).join('');
}
