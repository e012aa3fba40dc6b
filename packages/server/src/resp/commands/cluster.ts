/**
 * CLUSTER: who owns which slots, as clients of a Redis Cluster ask it. A server of its own answers as a cluster of one node, so the
 * clients that only speak to clusters work with it, too.
 *
 * Here a node owns some slots and stands by for others at once, while a node of Redis is either a master or a replica. SLOTS and SHARDS
 * are told by range, and name a range's standby as its replica; in NODES a node has one line, and is a master.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { slots } from '../../cluster/shards.ts';
import type { ClusterDoor, ClusterMember, ClusterView } from '../../cluster/view.ts';
import type { Command } from '../command.ts';
import { CommandError, wrongArity } from '../error-reply.ts';
import { keySlot } from '../key-slot.ts';
import { endpointText, nodeEndpoint } from '../node-endpoint.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Endpoint, Session } from '../session.ts';
import { type SlotRange, type Slots, slotCount, slotRanges, slotsByOwner, viewOfOne } from '../slot-ranges.ts';
import type { Turn } from '../turn.ts';
import { oneOf } from './subcommand.ts';

export interface ClusterContext {
  /** Undefined: a server of its own. */
  readonly cluster: Pick<ClusterDoor, 'view'> | undefined;
  readonly isTls: boolean;
}

export function clusterCommand({ cluster, isTls }: ClusterContext): Command {
  // A server of its own is where the client reached it: it knows no other address of its own.
  const viewFor = ({ local }: Session): ClusterView =>
    cluster?.view() ?? viewOfOne({ id: ownId(local), addresses: { resp: endpointText(local) } });

  const subcommands = {
    slots({ writer, session }: Turn) {
      const ranges = slotRanges(viewFor(session));
      writer.array(ranges.length);
      for (const { first, last, owner, standby } of ranges) {
        writer.array(standby ? 4 : 3);
        writer.integer(first);
        writer.integer(last);
        writeSlotNode(writer, owner);
        if (standby) writeSlotNode(writer, standby);
      }
    },
    shards({ writer, session }: Turn) {
      const groups = byNodes(slotRanges(viewFor(session)));
      writer.array(groups.length);
      for (const ranges of groups) writeShard(writer, ranges, isTls);
    },
    nodes({ writer, session }: Turn) {
      const view = viewFor(session);
      const byOwner = slotsByOwner(slotRanges(view));
      writer.verbatim(view.members.map((member) => `${nodeLine(member, byOwner.get(member.id) ?? [])}\n`).join(''));
    },
    replicas(turn: Turn) {
      if (turn.count !== 3) throw wrongArity('cluster|replicas');
      const { writer } = turn;
      const { members, owners, standbys } = viewFor(turn.session);
      const id = turn.text(2);
      const place = members.findIndex((member) => member.id === id);
      if (place < 0) throw new CommandError(`Unknown node ${id.slice(0, 64)}`);
      const replicas = members.filter((_, i) =>
        some(owners, (owner, shard) => owner === place && standbys[shard] === i),
      );
      writer.array(replicas.length);
      for (const replica of replicas) writer.bulk(replicaLine(replica, id));
    },
    myid({ writer, session }: Turn) {
      writer.bulk(selfOf(viewFor(session)).id);
    },
    info({ writer, session }: Turn) {
      const fields = infoOf(viewFor(session));
      const lines = Object.entries(fields).map(([field, value]) => `${field}:${value}\r\n`);
      writer.verbatim(lines.join(''));
    },
    keyslot({ buffer, reader, writer }: Turn) {
      if (reader.count !== 3) throw wrongArity('cluster|keyslot');
      writer.integer(keySlot(buffer, reader.starts[2]!, reader.stops[2]!));
    },
  };
  return {
    name: 'cluster',
    arity: -2,
    summary: 'Says who owns which keys.',
    group: 'cluster',
    run: oneOf('cluster', subcommands),
  };
}

function writeSlotNode(writer: ReplyWriter, { id, addresses }: ClusterMember): void {
  const { address, port } = nodeEndpoint(addresses);
  writer.array(4);
  writer.bulk(address);
  writer.integer(port);
  writer.bulk(id);
  writer.array(0);
}

/** Ranges with the same owner and standby are one shard to Redis. */
function byNodes(ranges: readonly SlotRange[]): readonly (readonly [SlotRange, ...SlotRange[]])[] {
  const groups = new Map<string, [SlotRange, ...SlotRange[]]>();
  for (const range of ranges) {
    const nodes = `${range.owner.id} ${range.standby?.id}`;
    const group = groups.get(nodes);
    if (group) group.push(range);
    else groups.set(nodes, [range]);
  }
  return [...groups.values()];
}

function writeShard(writer: ReplyWriter, ranges: readonly [SlotRange, ...SlotRange[]], isTls: boolean): void {
  const [{ owner, standby }] = ranges;
  writer.map(2);
  writer.bulk('slots');
  writer.array(2 * ranges.length);
  for (const { first, last } of ranges) {
    writer.integer(first);
    writer.integer(last);
  }
  writer.bulk('nodes');
  writer.array(standby ? 2 : 1);
  writeShardNode(writer, owner, 'master', isTls);
  if (standby) writeShardNode(writer, standby, 'replica', isTls);
}

function writeShardNode(writer: ReplyWriter, member: ClusterMember, role: 'master' | 'replica', isTls: boolean): void {
  const { address, port } = nodeEndpoint(member.addresses);
  writer.map(7);
  writer.bulk('id');
  writer.bulk(member.id);
  writer.bulk(isTls ? 'tls-port' : 'port');
  writer.integer(port);
  writer.bulk('ip');
  writer.bulk(address);
  writer.bulk('endpoint');
  writer.bulk(address);
  writer.bulk('role');
  writer.bulk(role);
  writer.bulk('replication-offset');
  writer.integer(0);
  writer.bulk('health');
  writer.bulk('online');
}

/** Id, address, flags, master, ping sent, pong received, epoch, link, slots. */
function nodeLine(member: ClusterMember, ranges: readonly Slots[]): string {
  const flags = member.isSelf ? 'myself,master' : 'master';
  const owned = ranges.map(({ first, last }) => ` ${first}-${last}`).join('');
  return `${member.id} ${busAddress(member)} ${flags} - 0 0 ${member.epoch} connected${owned}`;
}

function replicaLine(member: ClusterMember, master: string): string {
  const flags = member.isSelf ? 'myself,slave' : 'slave';
  return `${member.id} ${busAddress(member)} ${flags} ${master} 0 0 ${member.epoch} connected`;
}

/** Behind the `@` stands where nodes speak with each other: here as well. */
function busAddress({ addresses }: ClusterMember): string {
  const endpoint = nodeEndpoint(addresses);
  return `${endpointText(endpoint)}@${endpoint.port}`;
}

function infoOf(view: ClusterView): Record<string, string | number> {
  const ranges = slotRanges(view);
  const assigned = slotCount(ranges);
  return {
    cluster_enabled: 1,
    cluster_state: assigned === slots ? 'ok' : 'fail',
    cluster_slots_assigned: assigned,
    cluster_slots_ok: assigned,
    cluster_slots_pfail: 0,
    cluster_slots_fail: 0,
    cluster_known_nodes: view.members.length,
    cluster_size: slotsByOwner(ranges).size,
    cluster_current_epoch: view.revision,
    cluster_my_epoch: view.members.find(({ isSelf }) => isSelf)?.epoch ?? 0,
  };
}

function selfOf({ members }: ClusterView): ClusterMember {
  const self = members.find(({ isSelf }) => isSelf);
  if (self) return self;
  throw new CommandError('This node has not joined the cluster', 'CLUSTERDOWN');
}

function some(list: ArrayLike<number>, is: (value: number, place: number) => boolean): boolean {
  return Array.prototype.some.call(list, is);
}

/** Forty hexadecimal digits, the same from every thread and after a restart. */
function ownId({ port }: Endpoint): string {
  return createHash('sha1').update(`sluice ${hostname()} ${port}`).digest('hex');
}
