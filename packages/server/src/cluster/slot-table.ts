/**
 * Who owns which shard: the one record in etcd that says so, and the arithmetic of who should.
 *
 *      nodes      [ A@17, B@23, C@31 ]          a node and its epoch: a restarted node is another
 *      owners     [ 0, 0, 2, 1, ... ]           for each shard a place in `nodes`, or -1
 *      standbys   [ 1, 2, 0, -1, ... ]          whose copy is never further behind than was agreed
 *      origins    [ 'unknown:0', 'offer:5f..' ] how the owners came by them: from whom the state comes, if from anybody
 *
 * All shards are in one record because a change concerns many of them at once, and is then one transaction: there is no moment in which half
 * of it has happened.
 */
import { type Balancer, hashRing, type Member } from 'sluice/balance';
import type { SharedSettings } from './settings.ts';
import { defaultShards } from './shards.ts';
import type { NodeAddresses } from './view.ts';

export interface NodeReference {
  readonly id: string;
  readonly epoch: number;
  /** Its own; who watches it has to know. */
  readonly ttlMs: number;
  /** Whoever hears of the table can reach it at once, and need not look for its record first. */
  readonly addresses?: NodeAddresses;
}

export interface SlotTable {
  readonly shared: SharedSettings;
  /** How far the cluster's time had come when this was written: nodes that left are remembered by it. */
  readonly timeMs: number;
  readonly nodes: readonly NodeReference[];
  readonly owners: readonly number[];
  readonly standbys: readonly number[];
  readonly origins: readonly string[];
  /** For each shard a place in `origins`. */
  readonly origin: readonly number[];
}

/** How an owner came by its shard. Unknown: by a change of that revision of the table, and it knows nothing of what was granted before. */
export const unknownOrigin = (revision: number): string => `unknown:${revision}`;
export const offerOrigin = (token: string): string => `offer:${token}`;
export const copyOrigin = (epoch: number): string => `copy:${epoch}`;

export interface ShardEdit {
  readonly owner?: NodeReference | undefined;
  readonly origin?: string;
  /** `null`: none. */
  readonly standby?: NodeReference | null;
}

export function emptyTable(shared: SharedSettings): SlotTable {
  const none = Array.from({ length: shared.shards ?? defaultShards }, () => -1);
  return {
    shared,
    timeMs: 0,
    nodes: [],
    owners: none,
    standbys: none,
    origins: [unknownOrigin(0)],
    origin: none.map(() => 0),
  };
}

/** The same run of the same node: nobody is not the same as nobody. */
export function isSameNode(a: NodeReference | undefined, b: NodeReference | undefined): boolean {
  return a !== undefined && a.id === b?.id && a.epoch === b.epoch;
}

export function ownerOf({ nodes, owners }: SlotTable, shard: number): NodeReference | undefined {
  return nodes[owners[shard]!];
}

export function standbyOf({ nodes, standbys }: SlotTable, shard: number): NodeReference | undefined {
  return nodes[standbys[shard]!];
}

export function originOf({ origins, origin }: SlotTable, shard: number): string {
  return origins[origin[shard]!]!;
}

/** The table with some shards changed. What nobody is called any more is left out. */
export function edited(table: SlotTable, edits: ReadonlyMap<number, ShardEdit>, timeMs: number): SlotTable {
  const nodes = placesOf<NodeReference>(({ id, epoch }) => `${id}@${epoch}`);
  const origins = placesOf<string>((text) => text);
  const owners: number[] = [];
  const standbys: number[] = [];
  const origin: number[] = [];
  for (let shard = 0; shard < table.owners.length; shard += 1) {
    const edit = edits.get(shard) ?? {};
    const owner = 'owner' in edit ? edit.owner : ownerOf(table, shard);
    const standby = edit.standby === undefined ? standbyOf(table, shard) : (edit.standby ?? undefined);
    owners.push(owner ? nodes.placeOf(owner) : -1);
    standbys.push(standby ? nodes.placeOf(standby) : -1);
    origin.push(origins.placeOf(edit.origin ?? originOf(table, shard)));
  }
  return { shared: table.shared, timeMs, nodes: nodes.all, owners, standbys, origins: origins.all, origin };
}

function placesOf<T>(nameOf: (value: T) => string) {
  const all: T[] = [];
  const places = new Map<string, number>();
  return {
    all,
    placeOf(value: T): number {
      const name = nameOf(value);
      const known = places.get(name);
      if (known !== undefined) return known;
      places.set(name, all.length);
      return all.push(value) - 1;
    },
  };
}

export function tableText(table: SlotTable): string {
  return JSON.stringify(table);
}

/** Only what this code wrote is in etcd; anything else there is an operator's accident, and must not be guessed at. */
export function parseTable(text: string): SlotTable {
  const table = JSON.parse(text) as SlotTable;
  const lists = [table.owners, table.standbys, table.origin];
  const count = table.shared?.shards ?? defaultShards;
  if (!lists.every((list) => Array.isArray(list) && list.length === count) || !Array.isArray(table.nodes)) {
    throw new TypeError('The slot table in etcd is not one: was it written by another program?');
  }
  return table;
}

export interface Assignment {
  /** For each shard the address of who should own it, and of who should keep its copy; undefined with nobody to choose. */
  readonly owners: readonly (string | undefined)[];
  readonly standbys: readonly (string | undefined)[];
}

// How much more than its fair share a node may be given. Less would move more shards when nodes come and go.
const mostShare = 1.15;

/**
 * Who should own what, by the hash ring of the nodes' addresses: when a node comes or goes, about its own share moves. By addresses, because a
 * node that was restarted should get back what it had. A node that has as much as it may is passed over.
 */
export function assign(addresses: readonly string[], count: number): Assignment {
  const members = [...new Set(addresses)].sort();
  const ring = hashRing(members);
  const most = Math.ceil((mostShare * count) / members.length);
  const owned = new Map<string, number>();
  const copied = new Map<string, number>();
  const owners: (string | undefined)[] = [];
  const standbys: (string | undefined)[] = [];
  for (let shard = 0; shard < count; shard += 1) {
    const owner = choose(ring, `shard ${shard}`, owned, most, undefined);
    owners.push(owner);
    standbys.push(members.length < 2 ? undefined : choose(ring, `copy of shard ${shard}`, copied, most, owner));
  }
  return { owners, standbys };
}

// After so many full ones the next is taken as it is: it will hardly be more than one shard too many.
const mostTries = 64;

function choose(
  ring: Balancer<Member>,
  key: string,
  given: Map<string, number>,
  most: number,
  except: string | undefined,
): string | undefined {
  let chosen: string | undefined;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const picked = ring.pick(tries === 0 ? key : `${key}, ${tries}`);
    if (picked === undefined) return undefined;
    picked.done('ignored');
    if (picked.member.id === except) continue;
    chosen = picked.member.id;
    if ((given.get(chosen) ?? 0) < most) break;
  }
  if (chosen !== undefined) given.set(chosen, (given.get(chosen) ?? 0) + 1);
  return chosen;
}
