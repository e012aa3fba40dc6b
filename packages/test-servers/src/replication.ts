import type { RedisServer } from './redis-server.ts';

/** Whether the server is a replica whose link is up, with the first copy received. */
export async function isInSync(server: RedisServer): Promise<boolean> {
  return /^master_link_status:up\r?$/m.test(await server.call<string>('INFO', 'replication'));
}
