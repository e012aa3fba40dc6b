/**
 * The connections of a generator: whoever has room is asked, in turns. All read into one buffer: a new one for each answer would make the generator stop to
 * collect them, and what it then sends late counts against the service.
 */
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

/** A socket, and who is told what came: bytes that are there until it returns. */
interface Line {
  readonly socket: Socket;
  /** What came before anybody was told. */
  readonly early: readonly Buffer[];
  read(chunk: Buffer): void;
}

async function openLine(host: string, port: number, buffer: Buffer): Promise<Line> {
  const onread = {
    buffer,
    callback(bytes: number) {
      line.read(buffer.subarray(0, bytes));
      return true;
    },
  };
  const socket = connect({ host, port, noDelay: true, onread });
  const early: Buffer[] = [];
  const line: Line = { socket, early, read: (chunk) => early.push(Buffer.from(chunk)) };
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
  private turn = 0;

  constructor(lines: readonly Line[], openDialogue: OpenDialogue, events: AskerEvents, nextKey: () => number) {
    this.all = lines.map((line) => new Connection(line, openDialogue, events, this));
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

  constructor(line: Line, openDialogue: OpenDialogue, events: AskerEvents, group: Connection['group']) {
    const { socket } = line;
    this.socket = socket;
    this.events = events;
    this.group = group;
    this.dialogue = openDialogue(this.out, events);
    socket.on('error', (error) => this.lose(error.message));
    socket.on('close', () => this.lose('the service closed the connection'));
    line.read = (chunk) => this.read(chunk);
    for (const chunk of line.early) this.read(chunk);
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
