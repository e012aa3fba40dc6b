/** The door for clients of Redis: it listens, counts who comes in, and ends what takes too long. */
import { createServer, type Server, type Socket } from 'node:net';
import { threadId } from 'node:worker_threads';
import { type Clock, monotonicClock } from 'sluice';
import type { Door, DoorSettings, ListenOn } from '../service/door.ts';
import type { Service } from '../service/service.ts';
import { tlsHandshakes } from '../service/tls-handshakes.ts';
import { type Command, CommandTable } from './command.ts';
import { applyCommand } from './commands/apply.ts';
import { clientCommand } from './commands/client.ts';
import { clusterCommand } from './commands/cluster.ts';
import { commandCommand } from './commands/command.ts';
import { connectionCommands } from './commands/connection.ts';
import { checkCommand, policyCommand } from './commands/decisions.ts';
import { largePeerCommand, peerCommand } from './commands/peer.ts';
import { configCommand, infoCommand } from './commands/server.ts';
import { throttleCommand } from './commands/throttle.ts';
import { Connection, type DoorContext } from './connection.ts';
import { routedCommand } from './routed-command.ts';
import { endpointOf, Session } from './session.ts';
import { Turn } from './turn.ts';

/** What this door asks of the service. */
export type RespService = Pick<Service, 'throttle' | 'checkRule' | 'checkPolicy' | 'apply' | 'answersAtOnce'>;

export interface RespDoorOptions {
  /** Times idle and slow connections. Default: the real one. */
  readonly clock?: Clock;
  /** Which of the doors to one port it is: each counts its clients by itself. Default: the thread's own number. */
  readonly threadNumber?: number;
}

// Ids of clients are a thread's own: no thread ever has so many.
const idsOfThread = 2 ** 32;

// How often connections are looked at. One look times what began before it, another one ends it: a time-out may come twice as much late.
const sweepMs = 250;
// A peer that vanished without a word is noticed by the kernel's probes.
const keepAliveMs = 60_000;

export function respDoor(
  service: RespService,
  settings: DoorSettings,
  { clock = monotonicClock, threadNumber = threadId }: RespDoorOptions = {},
): Door {
  const { limits, meter, log, tls, tokens, cluster } = settings;
  const connections = new Set<Connection>();
  const sockets = new Set<Socket>();
  let lastId = threadNumber * idsOfThread;

  const commands: readonly Command[] = [
    throttleCommand(service),
    checkCommand(service),
    policyCommand(service),
    applyCommand(service, cluster),
    ...connectionCommands({ tokens, meter }),
    clientCommand({ sessions: () => sessionsOf(connections), nowMs: () => clock.now() }),
    clusterCommand({ cluster, isTls: tls !== undefined }),
    peerCommand(cluster),
    infoCommand({ meter, limits, nowMs: () => clock.now() }),
    configCommand({ meter, limits, nowMs: () => clock.now() }),
    commandCommand(() => context.table),
  ];
  const context: DoorContext = {
    turn: new Turn(limits.keyBytes),
    table: new CommandTable(cluster ? commands.map((command) => routedCommand(command, cluster)) : commands),
    limits,
    meter,
    log,
    large: cluster && largePeerCommand,
    restBytes: 0,
    isDraining: false,
  };

  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }, accept);
  const tlsServer = tls && tlsHandshakes(tls, settings, serve);

  function accept(socket: Socket): void {
    if (context.isDraining) {
      socket.destroy();
      return;
    }
    if (sockets.size >= limits.connections) {
      meter.refusedConnections += 1;
      refuse(socket);
      return;
    }
    sockets.add(socket);
    meter.connections += 1;
    socket.on('close', () => {
      sockets.delete(socket);
      meter.connections -= 1;
    });
    if (tlsServer === undefined) serve(socket);
    else {
      // A handshake that breaks off is the client's affair; 'close' follows.
      socket.on('error', (error) => log.debug({ err: error }, 'connection failed'));
      tlsServer.emit('connection', socket);
    }
  }

  /** Someone behind TLS could not read it. */
  function refuse(socket: Socket): void {
    socket.on('error', (error) => log.debug({ err: error }, 'connection failed'));
    if (tls === undefined) socket.write('-ERR max number of clients reached\r\n');
    socket.destroySoon();
  }

  function serve(socket: Socket): void {
    lastId += 1;
    const session = new Session({
      id: lastId,
      connectedMs: clock.now(),
      remote: endpointOf(socket.remoteAddress, socket.remotePort),
      local: endpointOf(socket.localAddress, socket.localPort),
      isAuthenticated: !tokens.areNeeded,
    });
    const connection = new Connection(socket, session, context);
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  }

  const stop = new AbortController();
  async function sweep(): Promise<void> {
    while (!stop.signal.aborted) {
      await clock.sleep(sweepMs, stop.signal);
      const nowMs = clock.now();
      for (const connection of connections) connection.sweep(nowMs);
    }
  }

  let isOwnSocket = false;
  return {
    server,
    async listen(on: ListenOn): Promise<void> {
      isOwnSocket = !('fd' in on);
      await listening(server, on);
      sweep().catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
    },
    async drain(timeoutMs: number): Promise<void> {
      context.isDraining = true;
      if (isOwnSocket) server.close();
      else server.unref();
      // What has arrived but was not read yet has been begun, too.
      await new Promise((resolve) => setImmediate(resolve));
      for (const connection of connections) connection.endWhenDone();
      await allClosed(sockets, timeoutMs, clock);
      for (const socket of sockets) socket.destroy();
      stop.abort();
    },
  };
}

function* sessionsOf(connections: Iterable<Connection>): Iterable<Session> {
  for (const { session } of connections) yield session;
}

function listening(server: Server, on: ListenOn): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen('fd' in on ? { fd: on.fd } : { host: on.host, port: on.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Resolves when every socket is closed, or the time is up. */
async function allClosed(sockets: ReadonlySet<Socket>, timeoutMs: number, clock: Clock): Promise<void> {
  if (sockets.size === 0) return;
  const done = new AbortController();
  for (const socket of sockets) socket.once('close', () => sockets.size === 0 && done.abort());
  await clock.sleep(timeoutMs, done.signal).catch((error: unknown) => {
    if (!done.signal.aborted) throw error;
  });
}
