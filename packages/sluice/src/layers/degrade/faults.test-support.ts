/** What a Redis server can do to its callers short of answering, each begun and ended at will. */
import { type FaultProxy, type RedisServer, startFaultProxy, startRedis, waitUntil } from '@sluice/test-servers';
import { Redis } from 'ioredis';

/** A server, and a proxy before it. */
export interface FaultyRedis {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  stop(): Promise<void>;
}

export async function faultyRedis(): Promise<FaultyRedis> {
  const server = await startRedis({ config: { 'busy-reply-threshold': 1 } });
  const proxy = await startFaultProxy(server);
  return {
    server,
    proxy,
    async stop() {
      await proxy.stop();
      await server.stop();
    },
  };
}

export interface Fault {
  /** Calls get no answer, or none in time; otherwise they get an error, and at once. */
  readonly isSilent: boolean;
  /** What clients have to connect to. */
  readonly at: 'server' | 'proxy';
  begin(redis: FaultyRedis): Promise<unknown>;
  end(redis: FaultyRedis): Promise<unknown>;
}

async function beginEndlessScript({ server }: FaultyRedis): Promise<void> {
  const caller = admin(server);
  // It ends when it is killed, and its error is what was asked for.
  const endless = caller.eval('while true do end', 0).catch(() => undefined);
  void endless.finally(() => caller.disconnect());
  await untilBusy(server, true);
}

async function killScript({ server }: FaultyRedis): Promise<void> {
  const killer = admin(server);
  await killer.script('KILL');
  killer.disconnect();
  await untilBusy(server, false);
}

async function untilBusy(server: RedisServer, isBusy: boolean): Promise<void> {
  const asker = admin(server);
  await waitUntil('the server is as busy as it should be', async () => {
    const reply = await asker.ping().catch((error: Error) => error.message);
    return reply.startsWith('BUSY') === isBusy;
  });
  asker.disconnect();
}

function admin({ port, host }: RedisServer): Redis {
  // A server that is busy is never ready.
  return new Redis(port, host, { enableReadyCheck: false });
}

export const faults: Readonly<Record<string, Fault>> = {
  'is gone': {
    isSilent: true,
    at: 'server',
    begin: ({ server }) => server.kill(),
    end: ({ server }) => server.restart(),
  },
  'stands still': {
    isSilent: true,
    at: 'server',
    begin: ({ server }) => server.pause(),
    end: async ({ server }) => server.resume(),
  },
  'cannot be reached': {
    isSilent: true,
    at: 'proxy',
    begin: async ({ proxy }) => proxy.blackhole(),
    end: async ({ proxy }) => proxy.resume(),
  },
  'answers too late': {
    isSilent: true,
    at: 'proxy',
    begin: async ({ proxy }) => {
      proxy.delayMs = 600;
    },
    end: async ({ proxy }) => {
      proxy.delayMs = 0;
    },
  },
  'has no memory left': {
    isSilent: false,
    at: 'server',
    begin: ({ server }) => server.call('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'),
    end: ({ server }) => server.call('CONFIG', 'SET', 'maxmemory', '0'),
  },
  'has become a replica': {
    isSilent: false,
    at: 'server',
    // Of a primary that nobody will ever find.
    begin: ({ server }) => server.call('REPLICAOF', '127.0.0.1', '1'),
    end: ({ server }) => server.call('REPLICAOF', 'NO', 'ONE'),
  },
  'is busy with a script': { isSilent: false, at: 'server', begin: beginEndlessScript, end: killScript },
  'forbids it': {
    isSilent: false,
    at: 'server',
    begin: ({ server }) => server.call('ACL', 'SETUSER', 'default', '-@scripting'),
    end: ({ server }) => server.call('ACL', 'SETUSER', 'default', '+@all'),
  },
};
