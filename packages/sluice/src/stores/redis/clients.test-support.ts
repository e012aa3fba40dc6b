/** Every client that the store claims to work with, set up as its documentation asks for. */
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as IovalkeyRedis } from 'iovalkey';
import { createClient, createCluster, createSentinel } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis-5';
import type { RedisClient } from './connection.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A client that is connected, and how to let go of it. */
export interface Connected {
  readonly client: RedisClient;
  close(): void;
}

const ioredisOptions = { autoResendUnfulfilledCommands: false } as const;
const clusterOptions = { retryDelayOnFailover: 0, slotsRefreshTimeout: 10_000 } as const;

/** What is lost with a connection is told to whoever called; a client without a listener would end the process. */
function silent<T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T {
  client.on('error', () => undefined);
  return client;
}

const urlOf = ({ host, port }: Address) => `redis://${host}:${port}`;

export const standaloneClients = {
  'ioredis 6': async ({ host, port }: Address): Promise<Connected> => {
    const client = silent(new Redis(port, host, ioredisOptions));
    return { client, close: () => client.disconnect() };
  },
  'ioredis 5': async ({ host, port }: Address): Promise<Connected> => {
    const client = silent(new Redis5(port, host, ioredisOptions));
    return { client, close: () => client.disconnect() };
  },
  iovalkey: async ({ host, port }: Address): Promise<Connected> => {
    const client = silent(new IovalkeyRedis(port, host, ioredisOptions));
    return { client, close: () => client.disconnect() };
  },
  'node-redis 6': async (address: Address): Promise<Connected> => {
    const client = silent(createClient({ url: urlOf(address) }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  'node-redis 5': async (address: Address): Promise<Connected> => {
    const client = silent(createClient5({ url: urlOf(address) }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
} as const;

export const clusterClients = {
  'ioredis 6': async (seeds: readonly Address[]): Promise<Connected> => {
    const client = silent(new Redis.Cluster([...seeds], clusterOptions));
    return { client, close: () => client.disconnect() };
  },
  'ioredis 5': async (seeds: readonly Address[]): Promise<Connected> => {
    const client = silent(new Redis5.Cluster([...seeds], clusterOptions));
    return { client, close: () => client.disconnect() };
  },
  iovalkey: async (seeds: readonly Address[]): Promise<Connected> => {
    const client = silent(new IovalkeyRedis.Cluster([...seeds], clusterOptions));
    return { client, close: () => client.disconnect() };
  },
  'node-redis 6': async (seeds: readonly Address[]): Promise<Connected> => {
    const client = silent(createCluster({ rootNodes: seeds.map((seed) => ({ url: urlOf(seed) })) }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  'node-redis 5': async (seeds: readonly Address[]): Promise<Connected> => {
    const client = silent(createCluster5({ rootNodes: seeds.map((seed) => ({ url: urlOf(seed) })) }));
    await client.connect();
    return { client, close: () => client.destroy() };
  },
} as const;

export const sentinelClients = {
  'ioredis 6': async (sentinels: readonly Address[], name: string): Promise<Connected> => {
    const client = silent(new Redis({ sentinels: [...sentinels], name, ...ioredisOptions }));
    return { client, close: () => client.disconnect() };
  },
  'node-redis 6': async (sentinels: readonly Address[], name: string): Promise<Connected> => {
    const client = silent(createSentinel({ name, sentinelRootNodes: [...sentinels] }));
    await client.connect();
    return { client, close: () => void client.destroy() };
  },
} as const;

let prefixes = 0;

/** A prefix that no other test of this process has: nothing that was left behind is found. */
export function freshPrefix(): string {
  prefixes += 1;
  return `test-${process.pid}-${prefixes}:`;
}
