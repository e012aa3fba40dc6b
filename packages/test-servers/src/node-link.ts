/**
 * The way to one node of a cluster, for clients and other nodes alike, that can be closed for some of them and not for others.
 *
 *      clients ───────┐
 *      node 1  ──╳────┼──► 127.0.0.2:port (here) ───► 127.0.0.1:port (the node)
 *      node 2  ───────┘
 *
 * What is sent on a closed way waits, and arrives when it is opened again, as it does when a partition heals: nobody is told.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { delayedStream, type Flow } from './delayed-stream.ts';
import { loopback } from './free-port.ts';
import type { Address } from './redis-server.ts';

export interface NodeLinkOptions {
  /** The node listens there on 127.0.0.1. */
  readonly port: number;
  /** Who has the other end of a connection that comes from this port. */
  sourceOf(port: number): string;
}

export interface NodeLink extends Address {
  /** Nothing passes between the node and this source any more, either way. */
  close(source: string): void;
  /** Everything passes again. */
  open(source: string): void;
  stop(): Promise<void>;
}

/** The host that nodes are reached by: another one than they listen on, so that the same port can be had twice. */
export const linkHost = '127.0.0.2';

interface Connection {
  update(): void;
  reset(): void;
}

export async function startNodeLink({ port, sourceOf }: NodeLinkOptions): Promise<NodeLink> {
  const connections = new Set<Connection>();
  const closed = new Set<string>();

  function accept(from: Socket): void {
    const source = sourceOf(from.remotePort ?? 0);
    const to = connect({ host: loopback, port, noDelay: true, allowHalfOpen: true });
    from.setNoDelay(true);
    const flow = (): Flow => (closed.has(source) ? 'hold' : 'pass');
    const requests = delayedStream({ from, to, delayMs: () => 0, flow });
    const replies = delayedStream({ from: to, to: from, delayMs: () => 0, flow });
    const connection: Connection = {
      update() {
        requests.update();
        replies.update();
      },
      reset() {
        connections.delete(connection);
        for (const socket of [from, to]) socket.resetAndDestroy();
      },
    };
    connections.add(connection);
    for (const socket of [from, to]) {
      socket.on('error', connection.reset);
      socket.on('close', () => {
        if (from.destroyed && to.destroyed) connections.delete(connection);
      });
    }
    connection.update();
  }

  function update(): void {
    for (const connection of connections) connection.update();
  }

  const listener = createServer({ allowHalfOpen: true }, accept);
  listener.listen({ host: linkHost, port });
  await once(listener, 'listening');
  listener.unref();

  return {
    host: linkHost,
    port,
    close(source) {
      closed.add(source);
      update();
    },
    open(source) {
      closed.delete(source);
      update();
    },
    async stop() {
      if (!listener.listening) return;
      const ended = once(listener, 'close');
      listener.close();
      for (const connection of [...connections]) connection.reset();
      await ended;
    },
  };
}
