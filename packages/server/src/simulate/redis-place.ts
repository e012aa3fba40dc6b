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
import { unlessAborted } from './unless-aborted.ts';

export interface RedisPlace {
  /** What is to be known where its keys could not be removed: a sentence. */
  readonly leftover: string;
  /** For one scenario: its variants are called as those of all others are. */
  newStore(): Store;
  /** What went wrong, in a sentence, where it was this Redis; all else as it came. */
  toldOf(error: unknown): unknown;
  /** Removes what was written, waiting so long for each answer. Rejects with a sentence when that fails, and what was left there. */
  close(patienceMs?: number): Promise<void>;
}

/** Also for a server that stands still: whoever waits wants to know. */
export const patienceMs = 10_000;
const keysPerScan = 1000;
/** As the client says it. */
const timedOut = 'Command timed out';

/** Throws a sentence for what is no address of a Redis, whoever may listen there. */
export function checkRedisAddress(url: string): void {
  if (!new RegExp(redisAddressPattern).test(url)) throw new BadUsage(`--redis ${mustBeRedisAddress}.`);
  if (!URL.canParse(url) || new URL(url).hostname === '') throw new BadUsage(`--redis ${noRedisAddress}`);
  const { pathname, searchParams } = new URL(url);
  // Either way of writing it is the client's, which ends the program for what is no number.
  const database = searchParams.get('db') ?? pathname.slice(1);
  if (!/^\d*$/.test(database))
    throw new BadUsage('--redis must name the database by its number, such as redis://host:port/3.');
}

/** Rejects with a sentence when it cannot be used, and when the signal ends the wait for it. */
export async function openRedisPlace(url: string, signal?: AbortSignal): Promise<RedisPlace> {
  checkRedisAddress(url);
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

  async function removeKeys(answerWithinMs: number): Promise<void> {
    if (client.status !== 'ready') await within(answerWithinMs, connect());
    let cursor = '0';
    do {
      const scanned = client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', keysPerScan);
      const [next, keys] = await within(answerWithinMs, scanned);
      if (keys.length > 0) await within(answerWithinMs, client.unlink(...keys));
      cursor = next;
    } while (cursor !== '0');
  }

  async function open(): Promise<void> {
    await connect();
    // Replicas, and users who may not write, answer until somebody writes.
    await client.set(`${prefix}may-write`, '', 'PX', patienceMs);
  }

  try {
    await unlessAborted(open(), signal);
  } catch (error) {
    client.disconnect();
    throw failed(error);
  }
  const leftover = `Keys that begin with ${prefix} may be left in Redis at ${address}.`;
  let stores = 0;
  return {
    leftover,
    newStore() {
      stores += 1;
      return redisStore({ client, prefix: `${prefix}${stores}:` });
    },
    toldOf(error) {
      const isOurs = error instanceof SluiceError && error.code === 'store-unavailable';
      return isOurs ? failed(error.cause ?? error) : error;
    },
    async close(answerWithinMs = patienceMs) {
      try {
        await removeKeys(answerWithinMs);
      } catch (error) {
        throw new BadUsage(`${failed(error).message} ${leftover}`);
      } finally {
        client.disconnect();
      }
    },
  };
}

/** What the client says of a server that stands still, and as soon as this wants it. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(timedOut)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function sentence(address: string, { message, code }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return `Nobody listens at ${address}.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host of ${address} is not known.`;
  if (code === 'ETIMEDOUT' || message === timedOut) return `Redis at ${address} does not answer.`;
  if (code === 'ECONNRESET' || code === 'EPIPE' || /^(The c|C)onnection (was lost|is closed)/.test(message))
    return `The connection to Redis at ${address} was lost.`;
  if (message.startsWith('NOAUTH')) return `Redis at ${address} wants a password: redis://:password@host:port.`;
  if (message.startsWith('WRONGPASS')) return `Redis at ${address} does not accept this user and password.`;
  if (message.startsWith('READONLY')) return `Redis at ${address} is a read-only replica. Name its primary.`;
  if (message.startsWith('MOVED')) return `Redis at ${address} is a part of a cluster. Name one that stands alone.`;
  return `Redis at ${address} cannot be used: ${message.replace(/\.*$/, '')}.`;
}
