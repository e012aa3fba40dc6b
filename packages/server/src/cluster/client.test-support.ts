/** Doors of real services for `sluice/client`: one of its own, or two that are nodes of one small cluster. */
import type { AddressInfo } from 'node:net';
import { type Clock, memoryStore, monotonicClock, SluiceError } from 'sluice';
import type { SentCheck } from 'sluice/client';
import { onTestFinished } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import { CheckMeter } from '../operations/check-meter.ts';
import { refusedKeys } from '../operations/refused-keys.ts';
import { roomyLimits } from '../resp/resp-door.test-support.ts';
import { respDoor } from '../resp/resp-door.ts';
import type { TlsFiles } from '../service/door.ts';
import { doorMeter } from '../service/door-meter.ts';
import { answersOf, LocalService } from '../service/local-service.ts';
import { Tokens } from '../service/tokens.ts';
import { mostShards as shards } from './shards.ts';
import type { ClusterDoor, ClusterMember } from './view.ts';

export interface NodeOptions {
  readonly clock?: Clock;
  readonly tokens?: readonly string[];
  readonly tls?: TlsFiles;
  readonly cluster?: ClusterDoor;
  readonly rules?: string;
}

/** A call as the service got it. */
export interface Asked {
  readonly checks: readonly SentCheck[];
  readonly requestId: string | undefined;
}

export async function openNode({ clock = monotonicClock, tokens = [], tls, cluster, rules = '[]' }: NodeOptions = {}) {
  const read = readConfig({ text: `rules: ${rules}\n` });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const checks = new CheckMeter(read.config.rules.map(({ name }) => name));
  const refusals = refusedKeys();
  const envoy = {
    shouldRateLimit() {
      throw new Error('nobody asks as Envoy does');
    },
  };
  const store = memoryStore({ clock });
  const local = new LocalService({ store, checks, refusals, envoy }, read.config);
  const asked: Asked[] = [];
  const service = {
    ...answersOf(local),
    apply(sent: readonly SentCheck[], requestId?: string) {
      asked.push({ checks: sent, requestId });
      return local.apply(sent, requestId);
    },
  };
  const complaints: unknown[] = [];
  const complain = (fields: object, message: string) => void complaints.push({ ...fields, message });
  const door = respDoor(service, {
    limits: roomyLimits,
    tokens: new Tokens(tokens),
    tls,
    meter: doorMeter(),
    log: { debug: () => undefined, info: () => undefined, warn: complain, error: complain },
    cluster,
  });
  await door.listen({ host: '127.0.0.1', port: 0 });
  const close = () => door.drain(0);
  onTestFinished(close);
  const { port } = door.server.address() as AddressInfo;
  return { port, address: `127.0.0.1:${port}`, asked, checks, refusals, store, complaints, close };
}

/** One node that tells clients another address than its own: that of something between it and them. */
export async function openNodeBehind(front: (port: number) => Promise<string>) {
  let resp = '';
  const member = { id: '0'.repeat(40), epoch: 1, isSelf: true, isLeaving: false };
  const node = await openNode({
    cluster: {
      route: () => 'here',
      view: () => ({
        revision: 1,
        members: [{ ...member, addresses: { resp } }],
        owners: new Array(shards).fill(0),
        standbys: new Array(shards).fill(-1),
      }),
      receive: nobodySpeaks,
    },
  });
  resp = await front(node.port);
  return node;
}

function nobodySpeaks(): never {
  throw new Error('nobody speaks as a node');
}

/** Who owns a shard: the first node, the second, or nobody. */
export type Owner = 0 | 1 | -1;

/** Two nodes; the first owns everything until told otherwise. */
export async function openTwoNodes(clock?: Clock) {
  const owners: Owner[] = Array.from({ length: shards }, () => 0);
  // What clients are told, which may be out of date.
  const told: Owner[] = [...owners];
  const addresses = ['', ''];
  let isConfused = false;
  /** What the first tells, and owns as far as it knows, since it was cut off. */
  let before: Owner[] | undefined;
  const members = (self: number): ClusterMember[] =>
    addresses.map((resp, i) => ({
      id: String(i).repeat(40),
      epoch: i + 1,
      addresses: { resp },
      isSelf: i === self,
      isLeaving: false,
    }));
  const doorOf = (self: number): ClusterDoor => ({
    route(slot) {
      if (self === 0 && before?.[slot >>> 4] === 0) throw new SluiceError('store-unavailable', 'the right is lost');
      const owner = owners[slot >>> 4] as Owner;
      if (owner === -1) return 'nowhere';
      if (isConfused) return members(self)[1 - self] as ClusterMember;
      return owner === self ? 'here' : (members(self)[owner] as ClusterMember);
    },
    view: () => ({
      revision: 1,
      members: members(self),
      owners: (self === 0 && before) || told,
      standbys: told.map(() => -1),
    }),
    receive: nobodySpeaks,
  });
  const nodes = [
    await openNode({ cluster: doorOf(0), ...(clock && { clock }) }),
    await openNode({ cluster: doorOf(1), ...(clock && { clock }) }),
  ] as const;
  for (const [i, { address }] of nodes.entries()) addresses[i] = address;
  return {
    nodes,
    /** Each says from now on that everything is the other's. */
    confuse() {
      isConfused = true;
    },
    /** The first hears of no change any more, and may decide nothing. */
    cutOffFirst() {
      before = [...told];
    },
    /** Without a word to the clients, unless `isTold`. */
    own(slot: number, owner: Owner, isTold = true) {
      owners[slot >>> 4] = owner;
      if (isTold) told[slot >>> 4] = owner;
    },
  };
}
