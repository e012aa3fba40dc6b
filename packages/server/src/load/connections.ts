/** The connections of a generator: whoever has room is asked, in turns. */
import { connect, type Socket } from 'node:net';
import type { Asker, AskerEvents } from './asker.ts';
import type { Dialogue, OpenDialogue } from './dialogue.ts';
import { Outgoing } from './outgoing.ts';

export interface ConnectionsOptions {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  /** The key of the next request. */
  nextKey(): number;
}

const connectMs = 10_000;

export async function openConnections(
  openDialogue: OpenDialogue,
  { host, port, count, nextKey }: ConnectionsOptions,
  events: AskerEvents,
): Promise<Asker> {
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(host, port)));
  return new Connections(sockets, openDialogue, events, nextKey);
}

async function openSocket(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  const onTimeout = () => socket.destroy(new Error(`${host}:${port} did not answer within ${connectMs} ms.`));
  socket.setTimeout(connectMs, onTimeout);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket.setTimeout(0, onTimeout).removeAllListeners('error');
}

class Connections implements Asker {
  /** The one whose answers are being read. It has just got room, and what they make the loop ask goes out together. */
  reading: Connection | undefined;
  private readonly all: readonly Connection[];
  private readonly nextKey: () => number;
  private turn = 0;

  constructor(sockets: readonly Socket[], openDialogue: OpenDialogue, events: AskerEvents, nextKey: () => number) {
    this.all = sockets.map((socket) => new Connection(socket, openDialogue, events, this));
    this.nextKey = nextKey;
  }

  ask(request: number): boolean {
    const connection = this.withRoom();
    connection?.ask(request, this.nextKey());
    return connection !== undefined;
  }

  flush(): void {
    for (const connection of this.all) connection.flush();
  }

  failure(): string | undefined {
    return this.all.every(({ lost }) => lost !== undefined) ? this.all[0]?.lost : undefined;
  }

  close(): void {
    for (const connection of this.all) connection.close();
  }

  private withRoom(): Connection | undefined {
    if (this.reading?.hasRoom()) return this.reading;
    for (let tried = 0; tried < this.all.length; tried += 1) {
      const connection = this.all[this.turn]!;
      this.turn = (this.turn + 1) % this.all.length;
      if (connection.hasRoom()) return connection;
    }
    return undefined;
  }
}

class Connection {
  /** Why it cannot be asked any more. */
  lost: string | undefined;
  private readonly socket: Socket;
  private readonly events: AskerEvents;
  private readonly group: { reading: Connection | undefined };
  private readonly out = new Outgoing();
  private readonly dialogue: Dialogue;

  constructor(socket: Socket, openDialogue: OpenDialogue, events: AskerEvents, group: Connection['group']) {
    this.socket = socket;
    this.events = events;
    this.group = group;
    this.dialogue = openDialogue(this.out, events);
    socket.on('data', (chunk) => this.read(chunk));
    socket.on('error', (error) => this.lose(error.message));
    socket.on('close', () => this.lose('the service closed the connection'));
    this.flush();
  }

  /** None while the socket takes no more: whatever is written then would pile up here. */
  hasRoom(): boolean {
    return this.lost === undefined && !this.socket.writableNeedDrain && this.dialogue.room() > 0;
  }

  ask(request: number, key: number): void {
    this.dialogue.ask(request, key);
  }

  flush(): void {
    if (this.out.length > 0 && this.lost === undefined) this.socket.write(this.out.take());
  }

  close(): void {
    this.lost ??= 'closed';
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    this.group.reading = this;
    try {
      this.dialogue.read(chunk);
    } catch (error) {
      this.lose((error as Error).message);
      this.socket.destroy();
    }
    this.group.reading = undefined;
    this.flush();
  }

  private lose(reason: string): void {
    if (this.lost !== undefined) return;
    this.lost = reason;
    for (const request of this.dialogue.unanswered()) this.events.answered(request, reason);
  }
}
