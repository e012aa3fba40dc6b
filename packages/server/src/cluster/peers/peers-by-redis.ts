/**
 * The other nodes of a cluster, asked through their doors for clients of Redis: `SLUICE.PEER` and its reply.
 *
 *      ask(address, message, timeoutMs) ──► the connection to that address, opened when there is none ──► reply, or a rejection in time
 *
 * Questions to one address leave in order, and all of them are under way at once. After a connection broke, or fell silent, the next one
 * may overtake what was sent before.
 */
import type { ConnectionOptions } from 'node:tls';
import { SluiceError } from 'sluice';
import { occasionalLog } from '../../operations/occasional-log.ts';
import type { Log } from '../../service/log.ts';
import type { Peers } from '../environment.ts';
import type { PeerMessage, PeerReply } from '../messages.ts';
import { PeerConnection } from './peer-connection.ts';
import { mostMessageBytes, readPeerReply, writePeerMessage } from './peer-text.ts';

export interface PeersByRedisOptions {
  /** Shown to every node. Undefined: they ask for none. */
  readonly token?: string | undefined;
  /** Authority, certificate and key; undefined: plain TCP. */
  readonly tls?: ConnectionOptions | undefined;
  readonly log: Log;
  /** A connection that nobody used for so long is closed. Default a minute. */
  readonly idleMs?: number;
  /** Beyond so many, the one that was unused for longest makes room. Default 1024. */
  readonly connections?: number;
}

export interface PeersByRedis extends Peers {
  /** How many connections there are. */
  readonly size: number;
  /** Everything under way fails. */
  close(): void;
}

// Questions to one node without an answer: beyond it somebody asks faster than anybody can answer.
const mostUnderWay = 10_000;
// A node that could not be reached is not tried again before this has passed: the questions in between fail at once.
const pauseMs = 100;

interface Failure {
  readonly error: SluiceError;
  readonly untilMs: number;
}

export function peersByRedis(options: PeersByRedisOptions): PeersByRedis {
  const { token, tls, idleMs = 60_000, connections: mostConnections = 1024 } = options;
  const log = occasionalLog(options.log, { everyMs: 10_000 });
  const connections = new Map<string, PeerConnection>();
  const failures = new Map<string, Failure>();
  let isClosed = false;

  function connectionTo(address: string): PeerConnection {
    const open = connections.get(address);
    if (open) return open;
    const failure = failures.get(address);
    if (failure && performance.now() < failure.untilMs) throw failure.error;
    failures.delete(address);
    if (connections.size >= mostConnections) makeRoom();
    const connection: PeerConnection = new PeerConnection({
      address,
      token,
      tls,
      onRetired(error) {
        if (connections.get(address) === connection) connections.delete(address);
        if (error && !isClosed) remember(address, error);
      },
    });
    connections.set(address, connection);
    return connection;
  }

  function remember(address: string, error: Error): void {
    log.warn({ address, error: error.message }, 'the connection to a node of the cluster failed');
    if (failures.size >= mostConnections) failures.clear();
    failures.set(address, {
      error: unavailable(`${address} cannot be asked: ${error.message}`, error),
      untilMs: performance.now() + pauseMs,
    });
  }

  function makeRoom(): void {
    let oldest: PeerConnection | undefined;
    for (const connection of connections.values()) {
      if (connection.underWay === 0 && (oldest === undefined || connection.usedMs < oldest.usedMs)) oldest = connection;
    }
    if (oldest === undefined) throw unavailable(`there are ${mostConnections} connections to other nodes, all in use`);
    oldest.retire(undefined);
  }

  function closeIdle(): void {
    const nowMs = performance.now();
    for (const connection of connections.values()) {
      if (connection.underWay === 0 && nowMs - connection.usedMs > idleMs) connection.retire(undefined);
    }
    for (const [address, { untilMs }] of failures) if (untilMs < nowMs) failures.delete(address);
  }
  const idleTimer = setInterval(closeIdle, idleMs / 2).unref();

  return {
    async ask(address: string, message: PeerMessage, timeoutMs: number): Promise<PeerReply> {
      if (isClosed) throw unavailable('this node is ending');
      const written = writePeerMessage(message);
      const bytes = Buffer.byteLength(written.text) + (written.bytes?.length ?? 0);
      if (bytes > mostMessageBytes)
        throw unavailable(`a message must be at most ${mostMessageBytes} bytes, got ${bytes}`);
      const connection = connectionTo(address);
      if (connection.underWay >= mostUnderWay) throw unavailable(`${address} has ${mostUnderWay} questions to answer`);
      return readPeerReply(await connection.ask(written, timeoutMs));
    },
    get size() {
      return connections.size;
    },
    close() {
      isClosed = true;
      clearInterval(idleTimer);
      for (const connection of [...connections.values()]) connection.end();
      connections.clear();
    },
  };
}

function unavailable(message: string, cause?: Error): SluiceError {
  return new SluiceError('store-unavailable', message, cause && { cause });
}
