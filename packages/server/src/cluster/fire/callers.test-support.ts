/**
 * Three clients of the cluster, set as the documentation tells callers who want strictness: nothing is sent twice, nothing waits in a queue of the
 * client, and what is not known soon enough is an error. All of them ask about the same keys of the same rule.
 */
import { type SluiceCluster, waitUntil } from '@sluice/test-servers';
import { Cluster, Command } from 'ioredis';
import { createCluster } from 'redis';
import { limiter, type Policy } from 'sluice';
import { clusterStore } from 'sluice/client';

export interface Caller {
  readonly name: string;
  /** Whether it is granted. Rejects when nobody knows. */
  ask(key: string): Promise<boolean>;
  close(): void | Promise<void>;
}

export interface CallersOptions {
  readonly seeds: SluiceCluster['seeds'];
  readonly rule: string;
  /** As the rule has it: `sluice/client` sends the policy with the question. */
  readonly policy: Policy;
  readonly graceMs: number;
}

// How often clients look who owns what, and how long a node may be silent on a connection that is in use. Redis Cluster has the same weakness:
// a client whose node has vanished without a word has to notice by itself. To look costs a client ten milliseconds and more of its processor.
const lookMs = 500;
const silentMs = 500;
const againMs = 250;

/** Its own commands are known to a client; of ours it has to be told where the key is, to ask the owner at once. */
class KeyedCommand extends Command {
  private readonly key: string;
  constructor(rule: string, key: string) {
    super('SLUICE.CHECK', [rule, key], { replyEncoding: 'utf8' });
    this.key = key;
  }
  override getKeys(): string[] {
    return [this.key];
  }
}

export function ioredisCaller({ seeds, rule, graceMs }: CallersOptions): Caller {
  const cluster = new Cluster(seeds.map(addressOf), {
    redisOptions: { commandTimeout: graceMs, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 0,
    maxRedirections: 2,
    slotsRefreshInterval: lookMs,
    slotsRefreshTimeout: silentMs,
    clusterRetryStrategy: () => againMs,
  });
  // What is lost with a connection is told to whoever called.
  cluster.on('error', () => undefined);
  return {
    name: 'ioredis',
    async ask(key) {
      const command = new KeyedCommand(rule, key);
      cluster.sendCommand(command as never);
      return isAllowed(await command.promise);
    },
    close: () => cluster.disconnect(),
  };
}

export async function nodeRedisCaller({ seeds, rule }: CallersOptions): Promise<Caller> {
  const cluster = createCluster({
    rootNodes: seeds.map((seed) => ({ socket: addressOf(seed) })),
    defaults: {
      disableOfflineQueue: true,
      socket: { connectTimeout: silentMs, socketTimeout: silentMs, reconnectStrategy: againMs },
    },
    maxCommandRedirections: 2,
    topologyRefreshOnReconnectionAttemptStrategy: againMs,
  });
  cluster.on('error', () => undefined);
  // It gives up after one try, and the nodes may be busy.
  await waitUntil('node-redis is connected', async () => {
    await cluster.connect();
    return true;
  });
  return {
    name: 'node-redis',
    ask: async (key) => isAllowed(await cluster.sendCommand(key, false, ['SLUICE.CHECK', rule, key])),
    close: () => cluster.destroy(),
  };
}

export function smartCaller({ seeds, rule, policy, graceMs }: CallersOptions): Caller {
  const store = clusterStore({ nodes: seeds, deadline: graceMs });
  const limits = limiter(policy, { store, name: rule });
  return {
    name: 'sluice/client',
    ask: async (key) => (await limits.check(key)).allowed,
    close: () => store.close(),
  };
}

export async function allCallers(options: CallersOptions): Promise<Caller[]> {
  return [ioredisCaller(options), await nodeRedisCaller(options), smartCaller(options)];
}

function isAllowed(reply: unknown): boolean {
  return (reply as unknown[])[0] === 1;
}

function addressOf(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}
