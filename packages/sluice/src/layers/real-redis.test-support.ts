/** What the tests of layers over a real Redis share: the clients they are tried with, and what reaches the server. */
import type { RedisServer } from '@sluice/test-servers';
import { type Address, standaloneClients } from '../stores/redis/clients.test-support.ts';
import type { RedisClient } from '../stores/redis/connection.ts';

/** One of each family; the store itself is tested with all of them. */
const families = {
  ioredis: standaloneClients['ioredis 6'],
  'node-redis': standaloneClients['node-redis 6'],
} as const;

export type ClientName = keyof typeof families;

export interface Clients {
  readonly ioredis: RedisClient;
  each<T>(make: (name: ClientName, client: RedisClient) => T): T[];
  close(): void;
}

/** A client of each family, connected. */
export async function clientsOf(address: Address): Promise<Clients> {
  const ioredis = await families.ioredis(address);
  const nodeRedis = await families['node-redis'](address);
  return {
    ioredis: ioredis.client,
    each: (make) => [make('ioredis', ioredis.client), make('node-redis', nodeRedis.client)],
    close() {
      ioredis.close();
      nodeRedis.close();
    },
  };
}

/** How many scripts the server was asked to run so far, refused ones included. Asked past every layer. */
export async function scriptCalls(server: Pick<RedisServer, 'call'>): Promise<number> {
  const stats = await server.call<string>('INFO', 'commandstats');
  let calls = 0;
  for (const [, done, rejected] of stats.matchAll(/cmdstat_(?:evalsha|eval|fcall):calls=(\d+).*rejected_calls=(\d+)/g))
    calls += Number(done) + Number(rejected);
  return calls;
}

/** The scripts that the server was asked to run while something happened. */
export async function scriptCallsDuring(
  server: Pick<RedisServer, 'call'>,
  happening: () => Promise<unknown>,
): Promise<number> {
  const before = await scriptCalls(server);
  await happening();
  return (await scriptCalls(server)) - before;
}
