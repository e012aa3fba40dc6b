/**
 * The connections of a generator: whoever has room is asked, in turns. All read into one buffer: a new one for each answer would make the generator stop to
 * collect them, and what it then sends late counts against the service.
 */
import { connect, type Socket } from 'node:net';
import type { Asker, AskerEvents } from './asker.ts';
import type { Dialogue, OpenDialogue } from './dialogue.ts';
import { Outgoing } from './outgoing.ts';
import { RequestRing } from './request-ring.ts';

export interface ConnectionsOptions {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  /** The key of the next request. */
  nextKey(): number;
}

const connectMs = 10_000;
const readBytes = 64 * 1024;

export async function openConnections(
  openDialogue: OpenDialogue,
  { host, port, count, nextKey }: ConnectionsOptions,
  events: AskerEvents,
): Promise<Asker> {
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  const lines = await Promise.all(Array.from({ length: count }, () => openLine(host, port, buffer)));
  return new Connections(lines, openDialogue, events, nextKey);
}

/** A socket, and who is told what came: as many bytes, which are there until it returns. */
interface Line {
  readonly socket: Socket;
  /** What came before anybody was told. */
  readonly early: readonly Buffer[];
  read(bytes: Buffer, length: number): void;
}

async function openLine(host: string, port: number, buffer: Buffer): Promise<Line> {
  const onread = {
    buffer,
    callback(bytes: number) {
      line.read(buffer, bytes);
      return true;
    },
  };
  const socket = connect({ host, port, noDelay: true, onread });
  const early: Buffer[] = [];
  const line: Line = { socket, early, read: (bytes, length) => early.push(Buffer.from(bytes.subarray(0, length))) };
  const onTimeout = () => socket.destroy(new Error(`${host}:${port} did not answer within ${connectMs} ms.`));
  socket.setTimeout(connectMs, onTimeout);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.setTimeout(0, onTimeout).removeAllListeners('error');
  return line;
}

class Connections implements Asker {
  /** The one whose answers are being read. It has just got room, and what they make the loop ask goes out together. */
  reading: Connection | undefined;
  private readonly all: readonly Connection[];
  private readonly nextKey: () => number;
  /** Places in `all` of those that may have room, each once. To look at all of them would cost more than a request, when most are waiting. */
  private readonly turns: RequestRing;
  /** Those with something to send, each once. */
  private readonly unsent: Connection[] = [];

  constructor(lines: readonly Line[], openDialogue: OpenDialogue, events: AskerEvents, nextKey: () => number) {
    this.nextKey = nextKey;
    this.turns = new RequestRing(lines.length);
    this.all = lines.map((line, place) => new Connection(line, place, openDialogue, events, this));
    for (const connection of this.all) this.queue(connection);
  }

  ask(request: number): boolean {
    const connection = this.withRoom();
    if (connection === undefined) return false;
    connection.ask(request, this.nextKey());
    if (!connection.isUnsent) {
      connection.isUnsent = true;
      this.unsent.push(connection);
    }
    this.queue(connection);
    return true;
  }

  flush(): void {
    for (const connection of this.unsent) {
      connection.isUnsent = false;
      connection.flush();
    }
    this.unsent.length = 0;
  }

  failure(): string | undefined {
    return this.all.every(({ lost }) => lost !== undefined) ? this.all[0]?.lost : undefined;
  }

  close(): void {
    for (const connection of this.all) connection.close();
  }

  /** It gets a turn if it has room. Without room it is told of here again, when it has some. */
  queue(connection: Connection): void {
    if (connection.isQueued || !connection.hasRoom()) return;
    connection.isQueued = true;
    this.turns.push(connection.place);
  }

  private withRoom(): Connection | undefined {
    if (this.reading?.hasRoom()) return this.reading;
    while (this.turns.length > 0) {
      const connection = this.all[this.turns.shift()]!;
      connection.isQueued = false;
      if (connection.hasRoom()) return connection;
    }
    return undefined;
  }
}

class Connection {
  readonly place: number;
  isQueued = false;
  isUnsent = false;
  /** Why it cannot be asked any more. */
  lost: string | undefined;
  private readonly socket: Socket;
  private readonly events: AskerEvents;
  private readonly group: Pick<Connections, 'reading' | 'queue'>;
  private readonly out = new Outgoing();
  private readonly dialogue: Dialogue;

  constructor(line: Line, place: number, openDialogue: OpenDialogue, events: AskerEvents, group: Connection['group']) {
    const { socket } = line;
    this.place = place;
    this.socket = socket;
    this.events = events;
    this.group = group;
    this.dialogue = openDialogue(this.out, events);
    socket.on('error', (error) => this.lose(error.message));
    socket.on('close', () => this.lose('the service closed the connection'));
    socket.on('drain', () => group.queue(this));
    line.read = (bytes, length) => this.read(bytes, length);
    for (const chunk of line.early) this.read(chunk, chunk.length);
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
    if (this.out.length > 0 && this.lost === undefined) this.out.writeTo(this.socket);
  }

  close(): void {
    this.lost ??= 'closed';
    this.socket.destroy();
  }

  private read(bytes: Buffer, length: number): void {
    this.group.reading = this;
    try {
      this.dialogue.read(bytes, length);
    } catch (error) {
      this.lose((error as Error).message);
      this.socket.destroy();
    }
    this.group.reading = undefined;
    this.flush();
    this.group.queue(this);
  }

  private lose(reason: string): void {
    if (this.lost !== undefined) return;
    this.lost = reason;
    for (const request of this.dialogue.unanswered()) this.events.answered(request, reason);
  }
}
