/**
 * A user's Redis as the place where the limits of scenarios live, under a prefix that nobody else has:
 *
 *      sluice:simulate:3f9c…:1:{alice}variant-1        the first scenario of this command, its key alice
 *
 * Keys that are written under a time of the run's own never expire by themselves: they are removed at the end, however it comes.
 */
import { randomUUID } from 'node:crypto';
import { SluiceError, type Store } from 'sluice';
import { redisStore } from 'sluice/redis';
import { mustBeRedisAddress, noRedisAddress, redisAddressPattern } from '../config/redis-address.ts';
import { withoutCredentials } from '../config/secrets.ts';
import { redisClient } from '../service/redis-client.ts';
import { BadUsage } from './bad-usage.ts';

export interface RedisPlace {
  /** As it may be shown. */
  readonly address: string;
  /** For one scenario: its variants are called as those of all others are. */
  newStore(): Store;
  /** What went wrong, in a sentence, where it was this Redis; all else as it came. */
  toldOf(error: unknown): unknown;
  /** Removes what was written. Rejects with a sentence when that fails, and what was left there. */
  close(): Promise<void>;
}

/** Also for a server that stands still: whoever waits wants to know. */
const patienceMs = 10_000;
const keysPerScan = 1000;

/** Rejects with a sentence when it cannot be used. */
export async function openRedisPlace(url: string): Promise<RedisPlace> {
  if (!new RegExp(redisAddressPattern).test(url)) throw new BadUsage(`--redis ${mustBeRedisAddress}.`);
  if (!URL.canParse(url) || new URL(url).hostname === '') throw new BadUsage(`--redis ${noRedisAddress}`);
  const address = withoutCredentials(url);
  const prefix = `sluice:simulate:${randomUUID()}:`;
  const client = await redisClient(url, {
    lazyConnect: true,
    connectTimeout: patienceMs,
    commandTimeout: patienceMs,
    // A run that was cut off in the middle is no result, and who is not there now will not be there for the next try.
    retryStrategy: () => null,
  });
  // What the client itself throws is only that its connection is closed; why is told here.
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason ??= error;
  });
  const failed = (error: unknown): BadUsage => new BadUsage(sentence(address, reason ?? (error as Error)));

  async function connect(): Promise<void> {
    reason = undefined;
    await client.connect();
    // A database that there is not: the client goes on with another.
    if (reason !== undefined) throw reason;
  }

  async function removeKeys(): Promise<void> {
    if (client.status !== 'ready') await connect();
    let cursor = '0';
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', keysPerScan);
      if (keys.length > 0) await client.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  }

  try {
    await connect();
    // Replicas, and users who may not write, answer until somebody writes.
    await client.set(`${prefix}may-write`, '', 'PX', patienceMs);
  } catch (error) {
    client.disconnect();
    throw failed(error);
  }
  let stores = 0;
  return {
    address,
    newStore() {
      stores += 1;
      return redisStore({ client, prefix: `${prefix}${stores}:` });
    },
    toldOf(error) {
      const isOurs = error instanceof SluiceError && error.code === 'store-unavailable';
      return isOurs ? failed(error.cause ?? error) : error;
    },
    async close() {
      try {
        await removeKeys();
      } catch (error) {
        throw new BadUsage(`${failed(error).message} Its keys that begin with ${prefix} may be left there.`);
      } finally {
        client.disconnect();
      }
    },
  };
}

function sentence(address: string, { message, code }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return `Nobody listens at ${address}.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host of ${address} is not known.`;
  if (code === 'ETIMEDOUT' || message === 'Command timed out') return `Redis at ${address} does not answer.`;
  if (code === 'ECONNRESET' || code === 'EPIPE' || /^(The c|C)onnection (was lost|is closed)/.test(message))
    return `The connection to Redis at ${address} was lost.`;
  if (message.startsWith('NOAUTH')) return `Redis at ${address} wants a password: redis://:password@host:port.`;
  if (message.startsWith('WRONGPASS')) return `Redis at ${address} does not accept this user and password.`;
  if (message.startsWith('READONLY')) return `Redis at ${address} is a read-only replica. Name its primary.`;
  if (message.startsWith('MOVED')) return `Redis at ${address} is a part of a cluster. Name one that stands alone.`;
  return `Redis at ${address} cannot be used: ${message.replace(/\.*$/, '')}.`;
}
