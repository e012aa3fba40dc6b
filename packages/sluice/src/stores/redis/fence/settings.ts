/** What a server must be set to so that a fence can hold. */
import { SluiceError } from '../../../vocabulary/errors.ts';
import type { Send } from '../connection.ts';
import { unavailable } from '../dispatcher.ts';

interface Demand {
  readonly setting: string;
  /** A value that does. */
  readonly value: string;
  readonly isMet: (value: string | undefined) => boolean;
  readonly why: string;
}

const always: readonly Demand[] = [
  {
    setting: 'maxmemory-policy',
    value: 'noeviction',
    isMet: (value) => value === 'noeviction',
    why: 'an evicted key would start anew with a full budget',
  },
  {
    setting: 'repl-backlog-ttl',
    value: '0',
    isMet: (value) => value === '0',
    why: 'a primary that has been without a replica for so long gets a new replication id, and everything is quarantined',
  },
];

// Nobody tells a primary that Sentinel has replaced, but for its replicas, which leave.
const withSentinel: readonly Demand[] = ['min-replicas-to-write', 'min-replicas-max-lag'].map((setting) => ({
  setting,
  value: '1',
  isMet: (value) => Number(value) >= 1,
  why: 'a primary that Sentinel has replaced would go on granting beside the new one',
}));

/** The server's own no, rather than a lost connection. */
export function isDenied(error: unknown): error is Error {
  return error instanceof Error && /^(ERR|NOPERM)\b/.test(error.message);
}

const clusterNodeTimeout = 'cluster-node-timeout';

export interface Surroundings {
  /** How long the server may go on answering after another has taken its place. */
  readonly deposedMs: number;
  /** Whether sentinels watch over it. */
  readonly isWatched: boolean;
}

/** Looks at one server's settings, and throws when they do not do. */
export async function checkSettings(send: Send): Promise<Surroundings> {
  const isWatched = (await sentinelCount(send)) > 0;
  const demands = isWatched ? [...always, ...withSentinel] : always;
  const settings = await settingsOf(send, [...demands.map(({ setting }) => setting), clusterNodeTimeout]);
  for (const { setting, value, isMet, why } of demands) {
    const actual = settings.get(setting);
    if (!isMet(actual)) {
      throw new SluiceError(
        'store-unsafe',
        `${setting} of the Redis server must be ${value}, got ${actual}: ${why}. Set it with CONFIG SET ${setting} ${value}, and in redis.conf.`,
      );
    }
  }
  // Lags are in whole seconds, and looked at once a second.
  const lagMs = (Number(settings.get('min-replicas-max-lag')) + 1) * 1000;
  return { deposedMs: isWatched ? lagMs : Number(settings.get(clusterNodeTimeout) ?? 0), isWatched };
}

/** The slots that a server of a cluster says are its own. */
export async function slotsOf(send: Send): Promise<Set<number>> {
  const own = / \S*myself\S* \S+ \d+ \d+ \d+ \S+(.*)/.exec(String(await ask(send, ['CLUSTER', 'NODES'])))?.[1] ?? '';
  const slots = new Set<number>();
  // What is on its way, there or here, is listed once more, in brackets.
  for (const [, from, to = from] of own.matchAll(/ (\d+)(?:-(\d+))?(?!\S)/g)) {
    for (let slot = Number(from); slot <= Number(to); slot += 1) slots.add(slot);
  }
  return slots;
}

/** How many sentinels watch over the server: they listen to each other through it. */
async function sentinelCount(send: Send): Promise<number> {
  const reply = await ask(send, ['PUBSUB', 'NUMSUB', '__sentinel__:hello']);
  return Number(entriesOf(reply)[0]?.[1] ?? 0);
}

async function settingsOf(send: Send, names: readonly string[]): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const name of names) {
    for (const [key, value] of entriesOf(await ask(send, ['CONFIG', 'GET', name]))) settings.set(key, value);
  }
  return settings;
}

async function ask(send: Send, command: string[]): Promise<unknown> {
  try {
    return await send(command);
  } catch (cause) {
    if (!isDenied(cause)) throw unavailable(cause);
    const text = `${command.join(' ')} failed, and without it no fence can be trusted.`;
    throw new SluiceError('store-unsafe', text, { cause });
  }
}

/** One name and its value: RESP2 has a list, RESP3 a map. */
function entriesOf(reply: unknown): [string, string][] {
  const entries = Array.isArray(reply) ? [reply] : reply instanceof Map ? [...reply] : Object.entries(Object(reply));
  return entries.filter((entry) => entry.length > 1).map(([key, value]) => [String(key), String(value)]);
}
