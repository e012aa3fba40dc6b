/** The section `store`: what each kind of store needs, and what it has no use for. */
import { addressOf, type Data, existing, type Given, isEverywhere, isReachedBy, milliseconds } from './build-values.ts';
import type {
  Address,
  ClientStoreConfig,
  EtcdConfig,
  EtcdTlsConfig,
  OnFailure,
  OwnedStoreConfig,
  RedisStoreConfig,
  StoreConfig,
} from './config.ts';
import { memberAddress } from './member-address.ts';
import { type Path, showValue } from './problem.ts';
import { noRedisAddress } from './redis-address.ts';

type StoreType = StoreConfig['type'];

/** Which fields each kind takes, `type` aside. */
export const fieldsOfStore: Readonly<Record<StoreType, readonly string[]>> = {
  memory: ['maxKeys'],
  redis: ['url', 'prefix', 'cluster', 'fenced', 'timeout', 'onFailure'],
  owned: [
    ...['etcd', 'etcdUsername', 'etcdPassword', 'etcdTls', 'clusterName', 'advertise', 'ttl', 'grace'],
    ...['unreplicated', 'shards', 'durableFrom', 'durableKeys', 'maxKeys', 'patience', 'onFailure'],
  ],
  cluster: ['nodes', 'nodesTls', 'token', 'deadline', 'onFailure'],
};

/** What is said of the store, with defaults, and of the doors beside it. */
export interface StoreSettings {
  readonly store: Data;
  readonly listen: Data;
}

export function buildStore(given: Given, { store, listen }: StoreSettings): StoreConfig {
  const type = store.type as StoreType;
  // A variable that sends a service to another store for once need not rewrite the file.
  if (given.isFromFile('store.type')) foreignFields(given, type);
  const resp = addressOf(listen.resp, listen.host as string);
  if (type === 'redis') return redisOf(given, store);
  if (type === 'owned') return ownedOf(given, store, resp);
  if (type === 'cluster') return clientOf(given, store, resp);
  return { type: 'memory', maxKeys: store.maxKeys as number };
}

function foreignFields({ data, list }: Given, type: StoreType): void {
  for (const field of Object.keys((data.store ?? {}) as Data)) {
    if (field === 'type' || fieldsOfStore[type].includes(field)) continue;
    const owners = Object.entries(fieldsOfStore).flatMap(([owner, fields]) => (fields.includes(field) ? [owner] : []));
    const [last, ...others] = owners.reverse() as [string, ...string[]];
    const stores = others.length === 0 ? `${last} store` : `${others.reverse().join(', ')} and ${last} stores`;
    const wayOut = others.length === 0 ? last : 'one of these';
    list.add(
      ['store', field],
      `is a setting of the ${stores}, and store.type is ${type}. Set store.type to ${wayOut}, or remove it.`,
      'name',
    );
  }
}

function redisOf(given: Given, store: Data): RedisStoreConfig {
  const { list } = given;
  if (store.url === undefined)
    list.add(
      ['store', 'url'],
      'is missing; the redis store needs the address of its server, such as redis://127.0.0.1:6379.',
    );
  else if (!URL.canParse(String(store.url))) list.add(['store', 'url'], noRedisAddress);
  return {
    type: 'redis',
    url: store.url as string,
    prefix: store.prefix as string,
    isCluster: store.cluster as boolean,
    isFenced: store.fenced as boolean,
    timeoutMs: milliseconds(given, ['store', 'timeout'], store.timeout),
    onFailure: store.onFailure as OnFailure,
  };
}

function ownedOf(given: Given, store: Data, resp: Address | undefined): OwnedStoreConfig {
  const { data, list } = given;
  if (data.gateway !== undefined)
    list.add(
      ['store', 'type'],
      'is owned, and a gateway is no node: it asks a cluster as a client. Set store.type to cluster and name nodes in store.nodes; nodes are run by sluice serve, from a file without gateway.',
    );
  const maxKeys = store.maxKeys as number;
  const shards = store.shards as number;
  if (maxKeys < shards)
    list.add(
      ['store', 'maxKeys'],
      `must be at least ${shards} with the owned store, each of whose ${shards} shards has its part of them, got ${maxKeys}.`,
    );
  const ttlMs = atLeast(given, 'ttl', store.ttl, [500, '500ms']);
  const graceMs = atLeast(given, 'grace', store.grace, [1, '1ms']);
  if (graceMs > ttlMs / 4 && !list.has('store', 'ttl'))
    list.add(
      ['store', 'grace'],
      `must be at most a quarter of store.ttl, which is ${ttlMs} ms, got ${showValue(store.grace)}.`,
    );
  return {
    type: 'owned',
    etcd: etcdOf(given, store),
    settings: {
      name: store.clusterName as string,
      ttlMs,
      shared: {
        graceMs,
        unreplicated: store.unreplicated as number,
        shards,
        durableFromMs: atLeast(given, 'durableFrom', store.durableFrom, [60_000, '1m']),
      },
      maxKeys,
      durableKeys: store.durableKeys as number,
      patienceMs: milliseconds(given, ['store', 'patience'], store.patience),
    },
    advertise: advertisedBy(given, store.advertise as string | undefined, resp),
    onFailure: store.onFailure as OnFailure,
  };
}

/** A default is long enough; what is not, somebody wrote. */
function atLeast(
  given: Given,
  field: string,
  value: unknown,
  [least, written]: readonly [ms: number, written: string],
): number {
  const path = ['store', field];
  const ms = milliseconds(given, path, value);
  if (ms < least) given.list.add(path, `must be at least ${written}, got ${showValue(value)}.`);
  return ms;
}

/** Without a host that others can reach, a node would send them to themselves. */
function advertisedBy({ list }: Given, own: string | undefined, resp: Address | undefined): string {
  if (resp === undefined)
    list.add(
      ['listen', 'resp'],
      'is closed, and nodes of an owned store speak with each other there. Give it a port, such as 6380.',
    );
  else if (own === undefined && isEverywhere(resp.host))
    list.add(
      ['store', 'advertise'],
      `is missing; listen.resp is on every interface (${resp.host}), so say by which host clients and other nodes reach this one, such as 10.0.0.1.`,
    );
  if (own !== undefined && isEverywhere(own))
    list.add(
      ['store', 'advertise'],
      `must be a host that clients and other nodes can reach, such as 10.0.0.1, got ${showValue(own)}.`,
    );
  return own ?? resp?.host ?? '';
}

function etcdOf(given: Given, store: Data): EtcdConfig {
  const { list } = given;
  const username = store.etcdUsername as string | undefined;
  const password = store.etcdPassword as string | undefined;
  const found = addressesOf(store.etcd, ['store', 'etcd']);
  if (found.length === 0)
    list.add(
      ['store', 'etcd'],
      'is missing; the owned store needs the addresses of etcd, such as [http://127.0.0.1:2379].',
    );
  const isEncrypted = found[0]?.text.startsWith('https:') === true;
  for (const { path, text } of found) {
    portProblem(given, path, text);
    // The password would go to all of them, to that one in the clear.
    if (text.startsWith('https:') !== isEncrypted)
      list.add(path, 'must begin as the first one does: all addresses with https://, or all with http://.');
  }
  if (username !== undefined && password === undefined)
    list.add(['store', 'etcdPassword'], 'is missing; etcdUsername needs it.');
  if (username === undefined && password !== undefined)
    list.add(['store', 'etcdUsername'], 'is missing; etcdPassword is that of a user.');
  const tls = etcdTlsOf(given, store.etcdTls as Data);
  if (tls !== undefined && found.length > 0 && !isEncrypted)
    list.add(
      ['store', 'etcdTls'],
      'means nothing with addresses that begin with http://. Let those of store.etcd begin with https://, or remove it.',
      'name',
    );
  const endpoints = found.map(({ text }) => text.replace(/\/$/, ''));
  return { endpoints, username, password, tls };
}

function etcdTlsOf(given: Given, tls: Data): EtcdTlsConfig | undefined {
  if (Object.keys(tls).length === 0) return undefined;
  const path = ['store', 'etcdTls'];
  const file = (name: string) => (tls[name] === undefined ? undefined : existing(given, [...path, name], 'file'));
  for (const [one, other] of [
    ['certificate', 'key'],
    ['key', 'certificate'],
  ] as const) {
    if (tls[one] !== undefined && tls[other] === undefined)
      given.list.add([...path, other], `is missing; the ${one} is of no use without it.`);
  }
  return { authority: file('authority'), certificate: file('certificate'), key: file('key') };
}

function clientOf(given: Given, store: Data, resp: Address | undefined): ClientStoreConfig {
  const { data, list } = given;
  const found = addressesOf(store.nodes, ['store', 'nodes']);
  if (found.length === 0)
    list.add(
      ['store', 'nodes'],
      'is missing; the cluster store needs the address of a node, or of several, such as [10.0.0.1:6380].',
    );
  for (const { path, text } of found) {
    portProblem(given, path, text);
    // A gateway does not open this door.
    if (data.gateway === undefined && resp !== undefined && isReachedBy(resp, memberAddress(text)))
      list.add(path, 'is where listen.resp of this service is: it would ask itself. Write where the nodes are.');
  }
  return {
    type: 'cluster',
    nodes: found.map(({ text }) => text),
    isTls: store.nodesTls as boolean,
    token: store.token as string | undefined,
    deadlineMs: milliseconds(given, ['store', 'deadline'], store.deadline),
    onFailure: store.onFailure as OnFailure,
  };
}

/** Of a list, or of one text with commas; each with the place where it stands. */
function addressesOf(value: unknown, path: Path): readonly { readonly text: string; readonly path: Path }[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return value.split(',').map((text) => ({ text, path }));
  return (value as readonly string[]).map((text, i) => ({ text, path: [...path, i] }));
}

function portProblem({ list }: Given, path: Path, text: string): void {
  const port = Number(/:(\d+)\/?$/.exec(text)?.[1]);
  if (port < 1 || port > 65_535) list.add(path, `must have a port from 1 to 65535, got ${port}.`);
}
