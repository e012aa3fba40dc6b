/**
 * A TCP proxy between a client and a server, that does to them what networks do.
 *
 *   client --- requestDelayMs --->  proxy  ------------> server
 *   client <------- delayMs ------  proxy  <------------ server
 *
 *   blackhole     nothing passes, either way, and nobody is told. What was sent arrives after `resume`, as it does when a partition heals.
 *   dropReplies   requests arrive and are executed, replies are lost: the client cannot know which.
 *   cut           all connections are reset (RST). New ones are served.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type DelayedStream, delayedStream, type Flow } from './delayed-stream.ts';
import { loopback } from './free-port.ts';
import type { Address } from './redis-server.ts';

export interface FaultProxyOptions {
  /** Where the server listens. */
  readonly port: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
}

export interface FaultProxy extends Address {
  /** How long every reply is kept back; the server has executed the request by then. Default 0. */
  delayMs: number;
  /** How long every request is kept back before the server sees it. Default 0. */
  requestDelayMs: number;
  /** How many connections are open. */
  readonly connectionCount: number;
  blackhole(): void;
  dropReplies(): void;
  cut(): void;
  /** Everything passes again. Connections that lost a reply are reset: their next reply would answer the wrong question. */
  resume(): void;
  /** Resets all connections and listens no more. */
  stop(): Promise<void>;
}

interface Connection {
  readonly requests: DelayedStream;
  readonly replies: DelayedStream;
  reset(): void;
}

export async function startFaultProxy({ port, host = loopback }: FaultProxyOptions): Promise<FaultProxy> {
  const connections = new Set<Connection>();
  let mode: 'pass' | 'blackhole' | 'drop-replies' = 'pass';
  const requestFlow = (): Flow => (mode === 'blackhole' ? 'hold' : 'pass');
  const replyFlow = (): Flow => (mode === 'drop-replies' ? 'drop' : requestFlow());

  function accept(client: Socket): void {
    const server = connect({ host, port, noDelay: true, allowHalfOpen: true });
    client.setNoDelay(true);
    const connection: Connection = {
      requests: delayedStream({ from: client, to: server, delayMs: () => proxy.requestDelayMs, flow: requestFlow }),
      replies: delayedStream({ from: server, to: client, delayMs: () => proxy.delayMs, flow: replyFlow }),
      reset() {
        connections.delete(connection);
        for (const socket of [client, server]) socket.resetAndDestroy();
      },
    };
    connections.add(connection);
    for (const socket of [client, server]) {
      // A side that failed cannot be told apart from one that reset: the other is told so.
      socket.on('error', connection.reset);
      socket.on('close', () => {
        if (client.destroyed && server.destroyed) connections.delete(connection);
      });
    }
    update(connection);
  }

  function update({ requests, replies }: Connection): void {
    requests.update();
    replies.update();
  }

  function change(next: typeof mode): void {
    mode = next;
    for (const connection of connections) update(connection);
  }

  const listener = createServer({ allowHalfOpen: true }, accept);
  listener.listen({ host: loopback, port: 0 });
  await once(listener, 'listening');
  listener.unref();

  const proxy: FaultProxy = {
    host: loopback,
    port: (listener.address() as AddressInfo).port,
    delayMs: 0,
    requestDelayMs: 0,
    get connectionCount() {
      return connections.size;
    },
    blackhole: () => change('blackhole'),
    dropReplies: () => change('drop-replies'),
    cut() {
      for (const connection of connections) connection.reset();
    },
    resume() {
      for (const connection of connections) if (connection.replies.hasGap) connection.reset();
      change('pass');
    },
    async stop() {
      if (!listener.listening) return;
      const closed = once(listener, 'close');
      listener.close();
      proxy.cut();
      await closed;
    },
  };
  return proxy;
}
