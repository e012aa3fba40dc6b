/** A primary, its replica, and three sentinels that watch over them: the other kind of failover, without slots. */
import { loopback } from './free-port.ts';
import { type Address, type RedisConfig, type RedisServer, startRedis, startRedisProcess } from './redis-server.ts';
import { isInSync } from './replication.ts';
import { waitUntil } from './wait-until.ts';

export interface SentinelOptions {
  /** What the sentinels call the primary. Default 'sluice'. */
  readonly name?: string;
  /** How long the primary may be silent before a sentinel takes it for dead. Default 1000. */
  readonly downAfterMs?: number;
  /** Lines of redis.conf for the two servers. */
  readonly config?: RedisConfig;
}

export interface RedisSentinel {
  /** What a client is given, with `name`, to find the primary. */
  readonly sentinels: Address[];
  readonly name: string;
  /** The two servers, whichever is the primary. */
  readonly servers: readonly RedisServer[];
  /** The sentinels themselves, to pause or kill. */
  readonly sentinelServers: readonly RedisServer[];
  /** Whoever the running sentinels agree to be the primary. Waits for the agreement. */
  primary(): Promise<RedisServer>;
  /** The planned change; gives the new primary once the old one replicates it. */
  failover(): Promise<RedisServer>;
  /** Waits until the sentinels have replaced `old`, as they do after its death. Gives the new primary. */
  waitForPromotion(old: RedisServer): Promise<RedisServer>;
  stop(): Promise<void>;
}

const sentinelCount = 3;
const quorum = 2;

export async function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { name = 'sluice', downAfterMs = 1000, config = {} } = options;
  if (!/^[\w.-]+$/.test(name)) throw new RangeError(`name must be of letters, digits, dots and dashes, got "${name}".`);
  const servers: RedisServer[] = [];
  const sentinelServers: RedisServer[] = [];

  async function stop(): Promise<void> {
    await Promise.all([...sentinelServers, ...servers].map((server) => server.stop()));
  }

  try {
    const shared: RedisConfig = { 'repl-diskless-sync-delay': 0, ...config };
    const primary = await startRedis({ config: shared });
    servers.push(primary);
    const replica = await startRedis({ config: { ...shared, replicaof: `${loopback} ${primary.port}` } });
    servers.push(replica);
    await waitUntil('the replica is in sync', () => isInSync(replica));
    for (let index = 0; index < sentinelCount; index += 1) {
      sentinelServers.push(await startOne(name, primary.port, downAfterMs));
    }
    await Promise.all(sentinelServers.map((sentinel) => waitUntilAcquainted(sentinel, name)));
  } catch (error) {
    await stop();
    throw error;
  }

  const running = () => sentinelServers.filter((sentinel) => sentinel.state === 'running');

  async function agreedPrimary(): Promise<RedisServer | undefined> {
    const ports = await Promise.all(running().map((sentinel) => primaryPort(sentinel, name)));
    if (new Set(ports).size !== 1) return undefined;
    return servers.find(({ port }) => port === ports[0]);
  }

  async function primary(): Promise<RedisServer> {
    await waitUntil('the sentinels agree on a primary', async () => (await agreedPrimary()) !== undefined);
    return (await agreedPrimary())!;
  }

  async function waitForPromotion(old: RedisServer): Promise<RedisServer> {
    const next = servers.find((server) => server !== old)!;
    await waitUntil(`the sentinels replace the primary on port ${old.port}`, async () => {
      return (await agreedPrimary()) === next && (await next.call<string[]>('ROLE'))[0] === 'master';
    });
    return next;
  }

  async function failover(): Promise<RedisServer> {
    const old = await primary();
    // Refused with NOGOODSLAVE as long as the sentinel has not heard from the replica since the last change.
    await waitUntil('a sentinel accepts the failover', async () => {
      return (await running()[0]!.call('SENTINEL', 'FAILOVER', name)) === 'OK';
    });
    const next = await waitForPromotion(old);
    await waitUntil(`the server on port ${old.port} replicates the new primary`, () => isInSync(old));
    return next;
  }

  return {
    sentinels: sentinelServers.map(({ host, port }) => ({ host, port })),
    name,
    servers,
    sentinelServers,
    primary,
    failover,
    waitForPromotion,
    stop,
  };
}

async function startOne(name: string, primaryPort: number, downAfterMs: number): Promise<RedisServer> {
  const settings = [
    `monitor ${name} ${loopback} ${primaryPort} ${quorum}`,
    `down-after-milliseconds ${name} ${downAfterMs}`,
    // How long a failover may take before another sentinel tries: the default of three minutes outlasts any test.
    `failover-timeout ${name} ${Math.max(6 * downAfterMs, 6000)}`,
  ];
  const sentinel = await startRedisProcess({ name: 'sentinel', config: { sentinel: settings }, args: ['--sentinel'] });
  // By default it asks the servers who they are every 10 seconds and greets the others every 2, and a change of roles
  // takes as long. A restarted sentinel goes back to that.
  await sentinel.call('SENTINEL', 'DEBUG', 'info-period', 200, 'publish-period', 200);
  return sentinel;
}

async function waitUntilAcquainted(sentinel: RedisServer, name: string): Promise<void> {
  await waitUntil(`the sentinel on port ${sentinel.port} knows the replica and the other sentinels`, async () => {
    const fields = await sentinel.call<string[]>('SENTINEL', 'MASTER', name);
    const field = (wanted: string) => fields[fields.indexOf(wanted) + 1];
    return (
      field('flags') === 'master' &&
      field('num-slaves') === '1' &&
      field('num-other-sentinels') === String(sentinelCount - 1)
    );
  });
}

async function primaryPort(sentinel: RedisServer, name: string): Promise<number> {
  const [, port] = await sentinel.call<string[]>('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
  return Number(port);
}
