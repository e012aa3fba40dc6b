/** What a server must be set to so that a fence can hold. */
import { SluiceError } from '../../../vocabulary/errors.ts';
import type { Send } from '../connection.ts';

interface Demand {
  readonly setting: string;
  readonly value: string;
  readonly why: string;
}

const demands: readonly Demand[] = [
  {
    setting: 'maxmemory-policy',
    value: 'noeviction',
    why: 'an evicted key would start anew with a full budget',
  },
  {
    setting: 'repl-backlog-ttl',
    value: '0',
    why: 'a primary that has been without a replica for so long gets a new replication id, and everything is quarantined',
  },
];

const clusterNodeTimeout = 'cluster-node-timeout';

/** Looks at one server's settings, and throws when they do not do. Returns how long it may take to notice that it was deposed. */
export async function checkSettings(send: Send): Promise<number> {
  const settings = await settingsOf(send, [...demands.map(({ setting }) => setting), clusterNodeTimeout]);
  for (const { setting, value, why } of demands) {
    const actual = settings.get(setting);
    if (actual !== value) {
      throw new SluiceError(
        'store-unsafe',
        `${setting} of the Redis server must be ${value}, got ${actual}: ${why}. Set it with CONFIG SET ${setting} ${value}, and in redis.conf.`,
      );
    }
  }
  return Number(settings.get(clusterNodeTimeout) ?? 0);
}

async function settingsOf(send: Send, names: readonly string[]): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const name of names) {
    let reply: unknown;
    try {
      reply = await send(['CONFIG', 'GET', name]);
    } catch (cause) {
      throw new SluiceError('store-unsafe', `CONFIG GET ${name} failed, and without it no fence can be trusted.`, {
        cause,
      });
    }
    // RESP2 has a list, RESP3 a map.
    const entries = Array.isArray(reply) ? [reply] : reply instanceof Map ? [...reply] : Object.entries(Object(reply));
    for (const [key, value] of entries) settings.set(String(key), String(value));
  }
  return settings;
}
