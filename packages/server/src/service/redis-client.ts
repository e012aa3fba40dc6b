/** The client of a Redis that the store of sluice/redis asks by. */
import type { Cluster, CommonRedisOptions, Redis } from 'ioredis';
import { loadIoredis } from './load-ioredis.ts';

type ClientOptions = Pick<CommonRedisOptions, 'lazyConnect' | 'connectTimeout' | 'commandTimeout' | 'retryStrategy'>;

export async function redisClient(url: string, options: ClientOptions = {}): Promise<Redis> {
  const ioredis = await loadIoredis();
  return new ioredis.Redis(url, { ...options, autoResendUnfulfilledCommands: false });
}

/** `url` is that of one of its nodes. */
export async function redisClusterClient(url: string): Promise<Cluster> {
  const ioredis = await loadIoredis();
  const { hostname, port, username, password, protocol } = new URL(url);
  const redisOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
  const seeds = [{ host: hostname, port: Number(port || 6379) }];
  return new ioredis.Cluster(seeds, { retryDelayOnFailover: 0, redisOptions });
}
