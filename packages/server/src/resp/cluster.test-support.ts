/** Several doors in one process that are a cluster: who owns what is the test's to say, and to change. */
import type { PeerMessage, PeerReply } from '../cluster/messages.ts';
import { shardOfSlot, mostShards as shards } from '../cluster/shards.ts';
import type { ClusterDoor, ClusterMember, ClusterView } from '../cluster/view.ts';
import { keySlot } from './key-slot.ts';
import { limitingService, type OpenDoor, type OpenDoorOptions, openDoor } from './resp-door.test-support.ts';
import type { RespService } from './resp-door.ts';

export interface TestNode extends OpenDoor {
  readonly id: string;
  /** Keys that were counted here, in order. */
  readonly counted: string[];
  /** How often a client was sent elsewhere, or nowhere. */
  redirections: number;
}

export interface Layout {
  revision: number;
  readonly owners: Int16Array;
  readonly standbys: Int16Array;
}

export interface TestCluster {
  readonly nodes: readonly TestNode[];
  readonly layout: Layout;
  /** A key that this node owns, beginning so. */
  keyOn(node: number, prefix?: string): string;
}

/** `owner` and `standby` say for each shard the place of its node; -1: none. */
export function layoutOf(owner: (shard: number) => number, standby: (shard: number) => number = () => -1): Layout {
  const every = (place: (shard: number) => number) => Int16Array.from({ length: shards }, (_, shard) => place(shard));
  return { revision: 7, owners: every(owner), standbys: every(standby) };
}

export function memberOf(place: number, resp: string): Omit<ClusterMember, 'isSelf'> {
  return { id: String(place).repeat(40), epoch: 100 + place, addresses: { resp }, isLeaving: false };
}

/** A door's part of a cluster that never changes by itself. */
export function fixedCluster(self: number, members: readonly Omit<ClusterMember, 'isSelf'>[], layout: Layout) {
  const all = members.map((member, i) => ({ ...member, isSelf: i === self }));
  const door: ClusterDoor = {
    route(slot) {
      const owner = layout.owners[shardOfSlot(slot, shards)]!;
      return owner === self ? 'here' : (all[owner] ?? 'nowhere');
    },
    view: (): ClusterView => ({ ...layout, members: all }),
    receive: (_: PeerMessage): PeerReply => ({ kind: 'not-mine' }),
  };
  return door;
}

export async function openCluster(
  layout: Layout,
  { nodes: count = 3, ...options }: OpenDoorOptions & { readonly nodes?: number } = {},
): Promise<TestCluster> {
  const nodes: TestNode[] = [];
  // Addresses are known when every door is open; nobody asks before.
  const cluster = (self: number) =>
    fixedCluster(
      self,
      nodes.map(({ port }, i) => memberOf(i, `127.0.0.1:${port}`)),
      layout,
    );
  for (let i = 0; i < count; i += 1) {
    const counted: string[] = [];
    const door = await openDoor({
      ...options,
      service: countingService(counted),
      cluster: {
        route(slot) {
          const route = cluster(i).route(slot);
          if (route !== 'here') nodes[i]!.redirections += 1;
          return route;
        },
        view: () => cluster(i).view(),
        receive: (message) => cluster(i).receive(message),
      },
    });
    nodes.push({ ...door, id: memberOf(i, '').id, counted, redirections: 0 });
  }
  return {
    nodes,
    layout,
    keyOn(node, prefix = 'key') {
      for (let i = 0; ; i += 1) {
        const key = `${prefix}${i}`;
        if (layout.owners[shardOfSlot(keySlot(Buffer.from(key)), shards)] === node) return key;
      }
    },
  };
}

function countingService(counted: string[]): RespService {
  const service = limitingService();
  return {
    ...service,
    throttle(bytes, start, end, numbers, quantity) {
      counted.push(Buffer.from(bytes.subarray(start, end)).toString());
      return service.throttle(bytes, start, end, numbers, quantity);
    },
    checkRule(rule, key, call) {
      counted.push(key);
      return service.checkRule(rule, key, call);
    },
    checkPolicy(policy, key, call) {
      counted.push(key);
      return service.checkPolicy(policy, key, call);
    },
  };
}
