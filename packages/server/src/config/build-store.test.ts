// The owned store and the client of a cluster: what they are when nobody says more, and what is wrong with what somebody says.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fieldsOfStore } from './build-store.ts';
import type { Config } from './config.ts';
import { formatProblems } from './format-problems.ts';
import { readPictures, told } from './problem-pictures.test-support.ts';
import { type ReadConfigOptions, readConfig } from './read-config.ts';
import { storeSchema } from './store-schema.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'build-store-'));
  for (const name of ['authority.pem', 'node.pem', 'node.key']) writeFileSync(join(folder, name), 'x');
});
afterAll(() => rmSync(folder, { recursive: true }));

function configOf(text: string, environment: ReadConfigOptions['environment'] = {}): Config {
  const read = readConfig({ text, environment });
  if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
  return read.config;
}

const owned = {
  type: 'owned',
  etcd: { endpoints: ['http://127.0.0.1:2379'], username: undefined, password: undefined, tls: undefined },
  settings: {
    name: 'default',
    ttlMs: 10_000,
    shared: { graceMs: 10, unreplicated: 10, shards: 256, durableFromMs: 3_600_000 },
    maxKeys: 1_000_000,
    durableKeys: 10_000,
    patienceMs: 1000,
  },
  advertise: '127.0.0.1',
  onFailure: 'closed',
};

test('a node needs to be told where etcd is, and nothing more', () => {
  expect(configOf('store: { type: owned, etcd: ["http://127.0.0.1:2379"] }').store).toEqual(owned);
});

test('a node can be told everything', () => {
  const text = `
listen: { host: "::", resp: 0.0.0.0:0 }
store:
  type: owned
  etcd: ["https://etcd-1:2379/", "https://[::1]:2379"]
  etcdUsername: sluice
  etcdPassword: hunter2
  etcdTls: { authority: ${folder}/authority.pem, certificate: ${folder}/node.pem, key: ${folder}/node.key }
  clusterName: edge_1.eu
  advertise: "2001:db8::1"
  ttl: 500
  grace: 125ms
  unreplicated: 0
  shards: 64
  durableFrom: 1m
  durableKeys: 5
  maxKeys: 1024
  patience: 2s
  onFailure: local
workers: 1`;
  expect(configOf(text).store).toEqual({
    type: 'owned',
    etcd: {
      endpoints: ['https://etcd-1:2379', 'https://[::1]:2379'],
      username: 'sluice',
      password: 'hunter2',
      tls: {
        authority: join(folder, 'authority.pem'),
        certificate: join(folder, 'node.pem'),
        key: join(folder, 'node.key'),
      },
    },
    settings: {
      name: 'edge_1.eu',
      ttlMs: 500,
      shared: { graceMs: 125, unreplicated: 0, shards: 64, durableFromMs: 60_000 },
      maxKeys: 1024,
      durableKeys: 5,
      patienceMs: 2000,
    },
    advertise: '2001:db8::1',
    onFailure: 'local',
  });
});

test('an authority alone is enough for TLS with etcd', () => {
  const text = `store: { type: owned, etcd: "https://a:2379", etcdTls: { authority: ${folder}/authority.pem } }`;
  expect(configOf(text).store).toMatchObject({
    etcd: { tls: { authority: join(folder, 'authority.pem'), certificate: undefined, key: undefined } },
  });
});

describe('a node is told to others by', () => {
  test.each([
    ['listen: { host: 10.0.0.7 }', '', '10.0.0.7'],
    ['listen: { resp: "node-1:7000" }', '', 'node-1'],
    ['listen: { resp: { host: "::1", port: 1 } }', '', '::1'],
    // The other doors may be where they like.
    ['listen: { host: 0.0.0.0, resp: "10.0.0.8:6380" }', '', '10.0.0.8'],
    ['listen: { host: 0.0.0.0 }', ', advertise: 10.0.0.9', '10.0.0.9'],
    ['listen: { host: 10.0.0.7 }', ', advertise: public.example', 'public.example'],
  ])('%s%s: %s', (listen, more, advertise) => {
    const { store } = configOf(`${listen}\nstore: { type: owned, etcd: "http://a:1"${more} }`);
    expect(store).toMatchObject({ advertise });
  });
});

test('a node is one thread unless somebody insists', () => {
  expect(configOf('store: { type: owned, etcd: "http://a:1" }').workers).toBe(1);
});

test('addresses are a list, or one text with commas, as variables have it', () => {
  const endpoints = ['http://a:1', 'http://b:2'];
  const etcd = endpoints.join(',');
  expect(configOf(`store: { type: owned, etcd: "${etcd}" }`).store).toMatchObject({ etcd: { endpoints } });
  const environment = { SLUICE_STORE_TYPE: 'owned', SLUICE_STORE_ETCD: etcd };
  expect(configOf('rules: []', environment).store).toMatchObject({ etcd: { endpoints } });
  const client = { SLUICE_STORE_TYPE: 'cluster', SLUICE_STORE_NODES: 'a:1,[::1]:2' };
  expect(configOf('rules: []', client).store).toMatchObject({ nodes: ['a:1', '[::1]:2'] });
});

test('a client of a cluster needs to be told of a node, and nothing more', () => {
  expect(configOf('store: { type: cluster, nodes: ["10.0.0.1:6380"] }').store).toEqual({
    type: 'cluster',
    nodes: ['10.0.0.1:6380'],
    isTls: false,
    token: undefined,
    deadlineMs: 10,
    onFailure: 'closed',
  });
});

test('a client of a cluster can be told everything', () => {
  const text =
    'store: { type: cluster, nodes: [a:1, "[::1]:2"], nodesTls: true, token: hunter2, deadline: 5ms, onFailure: open }';
  expect(configOf(text).store).toEqual({
    type: 'cluster',
    nodes: ['a:1', '[::1]:2'],
    isTls: true,
    token: 'hunter2',
    deadlineMs: 5,
    onFailure: 'open',
  });
});

test('a gateway may ask the node beside it, whose door it does not open', () => {
  const gateway = 'gateway: { upstreams: { api: { members: [127.0.0.1:9001] } } }';
  const { store } = configOf(`store: { type: cluster, nodes: [127.0.0.1:6380] }\n${gateway}`);
  expect(store.type).toBe('cluster');
});

test('a variable may make a client of what is a node in the file', () => {
  const text = 'store: { type: owned, etcd: ["http://a:1"], ttl: 5s }';
  const environment = { SLUICE_STORE_TYPE: 'cluster', SLUICE_STORE_NODES: 'a:1' };
  expect(configOf(text, environment).store).toMatchObject({ type: 'cluster', nodes: ['a:1'] });
});

test('whatever a store is told, there is a configuration of its kind or a problem', () => {
  const anyValue = fc.oneof(
    fc.constantFrom('1s', 1, 2000, 0, -1, true, 'http://a:1', 'https://a:1', 'a:1', ['https://a:1'], [], 'x', {}),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const anyFields = (fields: readonly string[]) => fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 5 });
  const anyStore = fc
    .constantFrom('memory' as const, 'redis' as const, 'owned' as const, 'cluster' as const)
    .chain((type) =>
      anyFields(fieldsOfStore[type]).map((fields) => ({
        ...(type === 'owned' && { etcd: 'http://a:1' }),
        ...(type === 'cluster' && { nodes: 'a:1' }),
        ...fields,
        type,
      })),
    );
  let sound = 0;
  fc.assert(
    fc.property(anyStore, (store) => {
      const read = readConfig({ text: JSON.stringify({ store }) });
      if ('problems' in read) {
        expect(read.problems.length).toBeGreaterThan(0);
        for (const { message } of read.problems) expect(message).not.toMatch(/undefined|NaN|\[object/);
        return;
      }
      sound++;
      expect(read.config.store.type).toBe(store.type);
    }),
    { numRuns: 1000 },
  );
  expect(sound).toBeGreaterThan(0);
});

test('every field of the store is one of some kind of store, which its description begins with', () => {
  for (const [field, { description }] of Object.entries(storeSchema.properties ?? {})) {
    if (field === 'type') continue;
    const named = [...description.matchAll(/(?:^|[,.] )`(memory|redis|owned|cluster)`(?=[,:])/g)].map(
      ([, kind]) => kind,
    );
    const owners = Object.entries(fieldsOfStore).flatMap(([kind, fields]) => (fields.includes(field) ? [kind] : []));
    expect(owners, field).toEqual(named);
  }
  const fields = new Set(Object.values(fieldsOfStore).flat());
  expect([...fields].filter((field) => !Object.hasOwn(storeSchema.properties ?? {}, field))).toEqual([]);
});

const pictures = `
store: { type: owened }
               ^ store.type must be one of memory, redis, owned, cluster, got "owened". Did you mean owned?
=====
store: { type: owned }
^ store.etcd is missing; the owned store needs the addresses of etcd, such as [http://127.0.0.1:2379].
=====
store: { type: owned, etcd: [] }
                            ^ store.etcd must be an address such as http://127.0.0.1:2379 or https://etcd.internal:2379, without a user in it, or a list of such, got an empty list.
=====
store: { type: owned, etcd: [127.0.0.1:2379] }
                             ^ store.etcd[0] must be an address such as http://127.0.0.1:2379 or https://etcd.internal:2379, without a user in it, got other text.
=====
store: { type: owned, etcd: ["http://root:hunter2@a:2379"] }
                             ^ store.etcd[0] must be an address such as http://127.0.0.1:2379 or https://etcd.internal:2379, without a user in it, got other text.
=====
store: { type: owned, etcd: ["http://a"] }
                             ^ store.etcd[0] must be an address such as http://127.0.0.1:2379 or https://etcd.internal:2379, without a user in it, got other text.
=====
store: { type: owned, etcd: ["http://a:2379", "http://b:70000"] }
                                              ^ store.etcd[1] must have a port from 1 to 65535, got 70000.
=====
store: { type: owned, etcd: ["https://a:2379", "http://b:2379"] }
                                               ^ store.etcd[1] must begin as the first one does: all addresses with https://, or all with http://.
=====
store: { type: owned, etcd: "http://a:1", etcdUsername: sluice }
^ store.etcdPassword is missing; etcdUsername needs it.
=====
store: { type: owned, etcd: "http://a:1", etcdPassword: hunter2 }
^ store.etcdUsername is missing; etcdPassword is that of a user.
=====
store: { type: owned, etcd: "http://a:1", etcdUsername: a, etcdPassword: [hunter2] }
                                                                         ^ store.etcdPassword must be text, got a list.
=====
store: { type: owned, etcd: "https://a:1", etcdTls: { certificate: /etc/hosts } }
                                           ^ store.etcdTls.key is missing; the certificate is of no use without it.
=====
store: { type: owned, etcd: "https://a:1", etcdTls: { key: /etc/hosts } }
                                           ^ store.etcdTls.certificate is missing; the key is of no use without it.
=====
store: { type: owned, etcd: "https://a:1", etcdTls: { authority: /nowhere/ca.pem } }
                                                                 ^ store.etcdTls.authority must be a file that can be read, got /nowhere/ca.pem: it does not exist.
=====
store: { type: owned, etcd: "http://a:1", etcdTls: { authority: /etc/hosts } }
                                          ^ store.etcdTls means nothing with addresses that begin with http://. Let those of store.etcd begin with https://, or remove it.
=====
store: { type: owned, etcd: "http://a:1", clusterName: a/b }
                                                       ^ store.clusterName must be a name of 1 to 64 letters, digits, dots, _ and -, got "a/b".
=====
store: { type: owned, etcd: "http://a:1", advertise: "10.0.0.1:6380" }
                                                     ^ store.advertise must be a host without a port, such as 10.0.0.1 or node-1.internal, got "10.0.0.1:6380".
=====
store: { type: owned, etcd: "http://a:1", advertise: 0.0.0.0 }
                                                     ^ store.advertise must be a host that clients and other nodes can reach, such as 10.0.0.1, got "0.0.0.0".
=====
listen: { host: 0.0.0.0 }
store: { type: owned, etcd: "http://a:1" }
^ store.advertise is missing; listen.resp is on every interface (0.0.0.0), so say by which host clients and other nodes reach this one, such as 10.0.0.1.
=====
listen: { resp: "[::]:6380" }
store: { type: owned, etcd: "http://a:1" }
^ store.advertise is missing; listen.resp is on every interface (::), so say by which host clients and other nodes reach this one, such as 10.0.0.1.
=====
store: { type: owned, etcd: "http://a:1", ttl: 499ms }
                                               ^ store.ttl must be at least 500ms, got "499ms".
=====
store: { type: owned, etcd: "http://a:1", ttl: 25d }
                                               ^ store.ttl must be at most 24 days, got "25d".
=====
store: { type: owned, etcd: "http://a:1", grace: 0.5 }
                                                 ^ store.grace must be at least 1ms, got 0.5.
=====
store: { type: owned, etcd: "http://a:1", ttl: 1s, grace: 251ms }
                                                          ^ store.grace must be at most a quarter of store.ttl, which is 1000 ms, got "251ms".
=====
store: { type: owned, etcd: "http://a:1", unreplicated: -1 }
                                                        ^ store.unreplicated must be a whole number from 0 to 1000000, got -1.
=====
store: { type: owned, etcd: "http://a:1", unreplicated: 1.5 }
                                                        ^ store.unreplicated must be a whole number from 0 to 1000000, got 1.5.
=====
store: { type: owned, etcd: "http://a:1", durableFrom: 59s }
                                                       ^ store.durableFrom must be at least 1m, got "59s".
=====
store: { type: owned, etcd: "http://a:1", durableKeys: 0 }
                                                       ^ store.durableKeys must be a whole number from 1 to 1000000, got 0.
=====
store: { type: owned, etcd: "http://a:1", maxKeys: 255 }
                                                   ^ store.maxKeys must be at least 256 with the owned store, each of whose 256 shards has its part of them, got 255.
=====
store: { type: owned, etcd: "http://a:1", patience: 0 }
                                                    ^ store.patience must be a time above 0, such as 250ms, 10s, 1m, 1h, 1d, or a number of milliseconds, got 0.
=====
store: { type: owned, etcd: "http://a:1", prefix: x }
                                          ^ store.prefix is a setting of the redis store, and store.type is owned. Set store.type to redis, or remove it.
=====
store: { type: owned, etcd: "http://a:1", cluster: true }
                                          ^ store.cluster is a setting of the redis store, and store.type is owned. Set store.type to redis, or remove it.
=====
store: { type: owned, etcd: "http://a:1", nodes: [a:1] }
                                          ^ store.nodes is a setting of the cluster store, and store.type is owned. Set store.type to cluster, or remove it.
=====
store: { etcd: "http://a:1", onFailure: open }
         ^ store.etcd is a setting of the owned store, and store.type is memory. Set store.type to owned, or remove it.
                             ^ store.onFailure is a setting of the redis, owned and cluster stores, and store.type is memory. Set store.type to one of these, or remove it.
=====
store: { type: owned, etcd: "http://a:1" }
listen: { resp: false }
                ^ listen.resp is closed, and nodes of an owned store speak with each other there. Give it a port, such as 6380.
=====
store: { type: owned, etcd: "http://a:1" }
workers: 4
         ^ workers must be 1 with the owned store, got 4. A node is one thread: run one process for each core.
=====
store: { type: owned, etcd: "http://a:1" }
workers: auto
         ^ workers must be 1 with the owned store, got "auto". A node is one thread: run one process for each core.
=====
store: { type: owned, etcd: "http://a:1" }
snapshot: { path: /etc/none }
^ snapshot is for the memory store; nodes hand their counts over, and etcd has those of long windows. Remove it, or set store.type to memory.
=====
store: { type: owned, etcd: "http://a:1" }
               ^ store.type is owned, and a gateway is no node: it asks a cluster as a client. Set store.type to cluster and name nodes in store.nodes; nodes are run by sluice serve, from a file without gateway.
gateway: { upstreams: { api: { members: [a:1] } } }
=====
store: { type: cluster }
^ store.nodes is missing; the cluster store needs the address of a node, or of several, such as [10.0.0.1:6380].
=====
store: { type: cluster, nodes: [10.0.0.1] }
                                ^ store.nodes[0] must be host:port, such as 10.0.0.1:6380, got "10.0.0.1".
=====
store: { type: cluster, nodes: [a:0] }
                                ^ store.nodes[0] must have a port from 1 to 65535, got 0.
=====
store: { type: cluster, nodes: [a:6380, localhost:6380] }
                                        ^ store.nodes[1] is where listen.resp of this service is: it would ask itself. Write where the nodes are.
=====
store: { type: cluster, nodes: [a:1], token: 5 }
                                             ^ store.token must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints, got a number.
=====
store: { type: cluster, nodes: [a:1], deadline: soon }
                                                ^ store.deadline must be a time above 0, such as 250ms, 10s, 1m, 1h, 1d, or a number of milliseconds, got "soon".
=====
store: { type: cluster, nodes: [a:1], timeout: 5ms }
                                      ^ store.timeout is a setting of the redis store, and store.type is cluster. Set store.type to redis, or remove it.
=====
store: { type: cluster, nodes: [a:1] }
snapshot: { path: /etc/none }
^ snapshot is for the memory store; the nodes of the cluster have the counts. Remove it, or set store.type to memory.
`;

describe('what is told', () => {
  test.each(readPictures(pictures))('$text', ({ text, expected }) => {
    expect(expected.length).toBeGreaterThan(0);
    expect(told(text)).toEqual(expected);
  });
});
