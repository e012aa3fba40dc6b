/**
 * The caller's own Redis client, whichever it is, as the one thing the store needs: send a command to where a key lives.
 *
 * A client that sends a command again after a lost connection would count a call twice, since the server may have carried
 * out the first. What decides that is looked at when the store is made.
 */
import { invalid } from '../../vocabulary/errors.ts';

/** ioredis 5 and 6, and iovalkey: `Redis` (also with Sentinel). */
export interface IoredisClient {
  readonly status: string;
  on(event: 'ready' | 'close', listener: () => void): unknown;
  call(command: string, ...args: string[]): Promise<unknown>;
  readonly options: {
    readonly autoResendUnfulfilledCommands?: boolean | undefined;
    readonly enableAutoPipelining?: boolean | undefined;
    readonly keyPrefix?: string | undefined;
  };
}

/** ioredis 5 and 6, and iovalkey: `Cluster`. */
export interface IoredisCluster {
  readonly isCluster: boolean;
  call(command: string, ...args: string[]): Promise<unknown>;
  nodes(role: 'master'): IoredisClient[];
  readonly options: {
    readonly retryDelayOnFailover?: number | undefined;
    readonly enableAutoPipelining?: boolean | undefined;
    readonly keyPrefix?: string | undefined;
    readonly redisOptions?: { readonly keyPrefix?: string | undefined } | undefined;
  };
}

/** node-redis 5 and 6: `createClient`, `createClientPool`. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** node-redis 5 and 6: `createCluster`. */
export interface NodeRedisCluster {
  sendCommand(firstKey: string | undefined, isReadonly: boolean | undefined, args: string[]): Promise<unknown>;
  readonly masters: readonly object[];
  // biome-ignore lint/suspicious/noExplicitAny: the node is the client's own business, and differs between its versions.
  nodeClient(node: any): Promise<NodeRedisClient> | NodeRedisClient;
}

/** node-redis 5 and 6: `createSentinel`. */
export interface NodeRedisSentinel {
  sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>;
  getMasterNode(): unknown;
}

export type RedisClient = IoredisClient | IoredisCluster | NodeRedisClient | NodeRedisCluster | NodeRedisSentinel;

/** Sends a command to one server, whatever keys are in it. */
export type Send = (args: string[]) => Promise<unknown>;

export interface Connection {
  /** Keys of one command have to share a slot. */
  readonly isCluster: boolean;
  /** Whether a command may be sent again although the server carried it out. Calls then carry a request id. */
  readonly mayResend: boolean;
  /** Sends a command to the server that holds the key. */
  send(key: string, args: string[]): Promise<unknown>;
  /** Every primary. */
  primaries(): Promise<Send[]>;
}

const clients = 'an ioredis, iovalkey or node-redis client';

/** The caller's client as a connection. Throws where it is none, or would count calls twice. */
export function connectionOf(client: RedisClient): Connection {
  const given = client as Partial<IoredisCluster & NodeRedisCluster & NodeRedisSentinel> | undefined;
  if (typeof given !== 'object' || given === null) throw invalid('client', clients, client);
  if (typeof given.call === 'function') {
    return given.isCluster ? ioredisCluster(client as IoredisCluster) : ioredis(client as IoredisClient);
  }
  if (typeof given.sendCommand !== 'function') throw invalid('client', clients, client);
  if (typeof given.nodeClient === 'function') return nodeRedisCluster(client as NodeRedisCluster);
  if (typeof given.getMasterNode === 'function') return nodeRedisSentinel(client as NodeRedisSentinel);
  return nodeRedis(client as NodeRedisClient);
}

function ioredis(client: IoredisClient): Connection {
  const { autoResendUnfulfilledCommands, enableAutoPipelining, keyPrefix } = client.options;
  mustHaveNoPrefix(keyPrefix);
  if (autoResendUnfulfilledCommands !== false) {
    throw invalid(
      'autoResendUnfulfilledCommands of the client',
      'false',
      autoResendUnfulfilledCommands,
      'After a lost connection the client would send calls again that the server may have counted already.',
    );
  }
  mustNotPipeline(enableAutoPipelining);
  const send = settling(client);
  return { isCluster: false, mayResend: false, send: (_key, args) => send(args), primaries: async () => [send] };
}

const settlings = new WeakMap<IoredisClient, Send>();

/**
 * What was sent and not answered when a connection is lost, ioredis sends again when told to, and otherwise drops without a
 * word: whoever waits for it would wait for ever. Here it fails. What was never sent stays in the client's own queue.
 */
function settling(client: IoredisClient): Send {
  const known = settlings.get(client);
  if (known) return known;
  // Each with whether it was sent.
  const waiting = new Map<(error: Error) => void, boolean>();
  client.on('ready', () => {
    for (const reject of waiting.keys()) waiting.set(reject, true);
  });
  client.on('close', () => {
    const lost = new Error('The connection was lost before the answer came.');
    for (const [reject, isSent] of waiting) {
      if (!isSent) continue;
      waiting.delete(reject);
      reject(lost);
    }
  });
  const send: Send = ([command = '', ...args]) =>
    new Promise((resolve, reject) => {
      waiting.set(reject, client.status === 'ready');
      client
        .call(command, ...args)
        .then(resolve, reject)
        .finally(() => waiting.delete(reject));
    });
  settlings.set(client, send);
  return send;
}

function ioredisCluster(client: IoredisCluster): Connection {
  const { retryDelayOnFailover, enableAutoPipelining, keyPrefix, redisOptions } = client.options;
  mustHaveNoPrefix(keyPrefix ?? redisOptions?.keyPrefix);
  if (retryDelayOnFailover !== 0) {
    throw invalid(
      'retryDelayOnFailover of the client',
      '0',
      retryDelayOnFailover,
      'After a lost connection the client would send calls again that the server may have counted already.',
    );
  }
  mustNotPipeline(enableAutoPipelining);
  return {
    isCluster: true,
    mayResend: false,
    send: (_key, [command = '', ...args]) => client.call(command, ...args),
    primaries: async () =>
      client.nodes('master').map(
        (node): Send =>
          ([command = '', ...args]) =>
            node.call(command, ...args),
      ),
  };
}

// ioredis would put its prefix before the keys behind the store's back, which then looks for them in other slots.
function mustHaveNoPrefix(keyPrefix: string | undefined): void {
  if (keyPrefix) {
    throw invalid('keyPrefix of the client', 'left out', keyPrefix, 'Give it to redisStore({ prefix }) instead.');
  }
}

// A pipeline of one server waits for the one before it, which a lost answer never lets end. Of a cluster, iovalkey sends most calls to
// the wrong server.
function mustNotPipeline(enableAutoPipelining: boolean | undefined): void {
  if (enableAutoPipelining) {
    throw invalid(
      'enableAutoPipelining of the client',
      'false',
      enableAutoPipelining,
      'After a lost answer it would send no more calls. Give the store a client without it: it puts calls together itself.',
    );
  }
}

// node-redis rejects what was sent and not answered; only what was never sent waits for the next connection.
function nodeRedis(client: NodeRedisClient): Connection {
  const send: Send = (args) => client.sendCommand(args);
  return { isCluster: false, mayResend: false, send: (_key, args) => send(args), primaries: async () => [send] };
}

function nodeRedisCluster(client: NodeRedisCluster): Connection {
  return {
    isCluster: true,
    mayResend: false,
    send: (key, args) => client.sendCommand(key, false, args),
    // Connected only when it is asked: one that is down must not keep the others from being asked.
    primaries: async () =>
      client.masters.map(
        (master): Send =>
          async (args) =>
            (await client.nodeClient(master)).sendCommand(args),
      ),
  };
}

// It asks a new primary again when the connection to the old one is lost, and how often cannot be read from outside.
function nodeRedisSentinel(client: NodeRedisSentinel): Connection {
  const send: Send = (args) => client.sendCommand(false, args);
  return { isCluster: false, mayResend: true, send: (_key, args) => send(args), primaries: async () => [send] };
}
