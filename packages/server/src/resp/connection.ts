/**
 * One client: its bytes become commands, and their replies go back in the same order.
 *
 *      socket ──► what is left from before + what came ──► command by command ──► replies ──► one write
 *                                    ▲                             │
 *                                    └── the rest, not yet whole   └── answers that come later keep their place (ReplyQueue)
 *
 * A client that asks faster than it reads, or faster than answers come, is not read from until it caught up: what it may hold here
 * is bounded, and the others do not notice.
 */
import type { Socket } from 'node:net';
import type { LimitsConfig } from '../config/config.ts';
import type { DoorMeter } from '../service/door-meter.ts';
import { dropInput } from '../service/drop-input.ts';
import type { Log } from '../service/log.ts';
import { type CommandTable, hasArity } from './command.ts';
import { incomplete, type LargeCommand, malformed, mostArguments, type ReaderLimits } from './command-reader.ts';
import { CommandError, errorReply, wrongArity } from './error-reply.ts';
import { type Place, ReplyQueue } from './reply-queue.ts';
import type { ReplyWriter } from './reply-writer.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';

/** What the connections of a door share. */
export interface DoorContext {
  readonly turn: Turn;
  readonly table: CommandTable;
  readonly limits: LimitsConfig;
  readonly meter: DoorMeter;
  readonly log: Log;
  /** A command that `limits` do not hold for. */
  readonly large: LargeCommand | undefined;
  /** Bytes of requests that are not yet whole, of all connections. */
  restBytes: number;
  /** The door is closing: a connection on which nothing is under way ends. */
  isDraining: boolean;
}

// Replies that a client has not read: beyond this nothing more is read from it.
const mostUnreadBytes = 256 * 1024;
// Replies leave at the end of a read; when this many have come together they leave earlier.
const writeBytes = 64 * 1024;

// Requests that are not yet whole, of all connections together. Beyond it those end that hold more than the smaller number and
// want to hold still more; one large request is fine, thousands at once are an attack.
const mostRestBytes = 64 * 1024 * 1024;
const smallRestBytes = 16 * 1024;

// The clock is not read for each message. What begins is timed by the sweep that follows, so that a time-out may come late, but never early.
const fromNextSweep = Number.POSITIVE_INFINITY;

/** As Redis has it: who has not shown a token cannot make the server hold much. */
const strangersLimits: ReaderLimits = {
  arguments: 10,
  argumentBytes: 16 * 1024,
  commandBytes: 64 * 1024,
  large: undefined,
};

export class Connection {
  readonly session: Session;
  private readonly socket: Socket;
  private readonly door: DoorContext;
  private readonly fullLimits: ReaderLimits;
  private readonly queue = new ReplyQueue();
  /** Bytes that came and were not used up: `rest[restStart..restEnd)`. What lies before may still be in use, and is never overwritten. */
  private rest: Buffer | undefined;
  private restStart = 0;
  private restEnd = 0;
  /** No command can be whole before so many bytes are there. */
  private neededBytes = 0;
  private isPaused = false;
  private isWriteScheduled = false;
  private wasDeferred = false;
  private drop: ((chunk: Buffer) => void) | undefined;
  private lastBytesMs = fromNextSweep;
  /** When the request began that is not yet whole; undefined: there is none. */
  private requestSinceMs: number | undefined;
  /** Since when the client has not read what it was sent. */
  private unreadSinceMs: number | undefined;
  /** Since when the client asks nothing more. It may still read, or be gone: which of them shows only when it is written to. */
  private halfClosedSinceMs: number | undefined;
  private endingSinceMs: number | undefined;

  constructor(socket: Socket, session: Session, door: DoorContext) {
    this.socket = socket;
    this.session = session;
    this.door = door;
    const { large } = door;
    const { bodyBytes } = door.limits;
    this.fullLimits = { arguments: mostArguments, argumentBytes: bodyBytes, commandBytes: bodyBytes, large };
    // Else Node ends our half with the client's, before the answers that come later.
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('end', () => this.halfClose());
    socket.on('drain', () => this.onDrain());
    socket.on('close', () => this.forget());
    // Its own end of a broken connection is all a client may break; 'close' follows.
    socket.on('error', (error) => door.log.debug({ err: error, client: session.id }, 'connection failed'));
  }

  private receive(chunk: Buffer): void {
    this.lastBytesMs = fromNextSweep;
    if (this.session.isEnding) this.ignore(chunk);
    else if (this.rest === undefined) this.process(chunk, 0, chunk.length);
    else if (this.append(chunk)) {
      const isWorthReading = !this.isPaused && this.restEnd - this.restStart >= this.neededBytes;
      if (isWorthReading) this.process(this.rest, this.restStart, this.restEnd);
    }
  }

  private process(buffer: Buffer, from: number, to: number): void {
    const at = this.answerAll(buffer, from, to);
    this.door.turn.writer.flush(this.socket);
    if (this.socket.writableLength > mostUnreadBytes) this.pause();
    if (at >= to || this.session.isEnding) this.forget();
    else if (this.isPaused) this.keep(buffer, at, to);
    // A part whose end never comes.
    else if (this.halfClosedSinceMs !== undefined) this.forget();
    else this.keepPart(buffer, at, to);
    if (this.mustEnd()) this.endWhenDone();
  }

  /** Answers the commands that are there whole; says where the first one begins that is not. */
  private answerAll(buffer: Buffer, from: number, to: number): number {
    const { turn, meter } = this.door;
    const { reader, writer } = turn;
    turn.buffer = buffer;
    turn.session = this.session;
    turn.defer = this.defer;
    writer.isResp3 = this.session.isResp3;
    reader.begin(buffer);
    let at = from;
    while (at < to) {
      if (writer.length >= writeBytes) writer.flush(this.socket);
      // Only what waits for others and what was flushed just now can fill it up.
      if ((this.queue.length > 0 || writer.length === 0) && this.isFull()) {
        this.pause();
        return at;
      }
      const found = reader.read(at, to, this.session.isAuthenticated ? this.fullLimits : strangersLimits);
      if (found === incomplete) {
        this.neededBytes = reader.needed - at;
        return at;
      }
      if (found === malformed) {
        this.reject(`ERR ${reader.problem}`);
        meter.malformed += 1;
        return to;
      }
      at = reader.end;
      if (reader.count === 0) continue;
      meter.requests += 1;
      this.answer(turn);
      if (this.session.isEnding) return to;
    }
    return at;
  }

  private isFull(): boolean {
    return (
      this.queue.length >= this.door.limits.pipelineDepth ||
      this.queue.bytes > mostUnreadBytes ||
      this.socket.writableLength > mostUnreadBytes
    );
  }

  private answer(turn: Turn): void {
    const { writer } = turn;
    const mark = writer.length;
    this.wasDeferred = false;
    try {
      this.run(turn);
    } catch (error) {
      writer.length = mark;
      writer.error(this.errorText(error));
    }
    // Somebody before it still waits, so this one has to.
    if (this.queue.length > 0 && !this.wasDeferred) this.queue.add(writer.cut(mark));
  }

  private run(turn: Turn): void {
    const { reader, session } = turn;
    const command = turn.command(this.door.table);
    if (command === undefined) throw this.unknownCommand(turn);
    if (!session.isAuthenticated && command.isOpen !== true) {
      this.door.meter.unauthorized += 1;
      throw new CommandError('Authentication required.', 'NOAUTH');
    }
    session.lastCommand = command.name;
    if (!hasArity(command, reader.count)) throw wrongArity(command.name);
    command.run(turn);
  }

  /** What was asked, shortened: it tells a person which client is at the wrong port. */
  private unknownCommand(turn: Turn): CommandError {
    if (!this.session.isAuthenticated) {
      this.door.meter.unauthorized += 1;
      return new CommandError('Authentication required.', 'NOAUTH');
    }
    let shown = '';
    for (let i = 1; i < turn.count && shown.length < 128; i += 1) {
      shown += `'${turn.text(i).slice(0, 128 - shown.length)}' `;
    }
    return new CommandError(`unknown command '${turn.text(0).slice(0, 128)}', with args beginning with: ${shown}`);
  }

  private errorText(error: unknown): string {
    const text = errorReply(error);
    if (text !== undefined) return text;
    this.door.log.error({ err: error, command: this.session.lastCommand }, 'a command failed unexpectedly');
    return 'ERR internal error; the log of the server says more';
  }

  private readonly defer = <T>(answer: Promise<T>, write: (writer: ReplyWriter, value: T) => void): void => {
    const { writer } = this.door.turn;
    const place = this.queue.add(undefined);
    this.wasDeferred = true;
    answer.then(
      (value) => {
        const mark = writer.length;
        writer.isResp3 = this.session.isResp3;
        try {
          write(writer, value);
        } catch (error) {
          writer.length = mark;
          writer.error(this.errorText(error));
        }
        this.settle(place, writer.cut(mark));
      },
      (error) => {
        const mark = writer.length;
        writer.error(this.errorText(error));
        this.settle(place, writer.cut(mark));
      },
    );
  };

  private settle(place: Place, reply: Buffer): void {
    this.queue.fill(place, reply);
    if (this.isWriteScheduled) return;
    this.isWriteScheduled = true;
    // Answers often come in bunches; those that are already under way share the write.
    queueMicrotask(() => this.writeSettled());
  }

  private writeSettled(): void {
    this.isWriteScheduled = false;
    if (this.socket.destroyed) return;
    const { writer } = this.door.turn;
    for (let reply = this.queue.take(); reply !== undefined; reply = this.queue.take()) writer.append(reply);
    writer.flush(this.socket);
    if (this.isPaused) this.goOn();
    if (this.mustEnd()) this.endWhenDone();
  }

  // --- A client that is too fast, or too slow ---

  private pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.socket.pause();
    if (this.socket.writableLength > 0) this.unreadSinceMs ??= fromNextSweep;
  }

  private onDrain(): void {
    this.unreadSinceMs = undefined;
    if (this.isPaused) this.goOn();
  }

  /** Reads on where it stopped, once there is room again. */
  private goOn(): void {
    if (this.isFull() || this.session.isEnding) return;
    this.isPaused = false;
    if (this.rest !== undefined) this.process(this.rest, this.restStart, this.restEnd);
    if (!this.isPaused && !this.socket.destroyed) this.socket.resume();
  }

  // --- What is not yet whole ---

  private forget(): void {
    this.hold(undefined);
    this.neededBytes = 0;
    this.requestSinceMs = undefined;
  }

  private keep(buffer: Buffer, from: number, to: number): void {
    this.hold(buffer);
    this.restStart = from;
    this.restEnd = to;
    this.neededBytes = 0;
    this.requestSinceMs = undefined;
  }

  /** The beginning of a command. It is copied once; then bytes are added behind it until it is whole. */
  private keepPart(buffer: Buffer, from: number, to: number): void {
    if (buffer === this.rest && from === this.restStart && this.requestSinceMs !== undefined) return;
    const part = Buffer.allocUnsafeSlow(Math.max(64, 2 * (to - from)));
    this.restEnd = buffer.copy(part, 0, from, to);
    this.restStart = 0;
    this.hold(part);
    this.requestSinceMs = fromNextSweep;
  }

  /** Adds what came to what is there; false when that would be too much for the door, and the connection ends. */
  private append(chunk: Buffer): boolean {
    const rest = this.rest!;
    if (rest.length - this.restEnd < chunk.length) {
      const length = this.restEnd - this.restStart;
      if (length > smallRestBytes && this.door.restBytes > mostRestBytes) {
        this.reject('ERR too many unfinished requests; try again later');
        this.door.turn.writer.flush(this.socket);
        this.endWhenDone();
        return false;
      }
      // Twice as much each time, so that each byte is moved only once or twice however many reads it takes.
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * length, length + chunk.length));
      this.restEnd = rest.copy(larger, 0, this.restStart, this.restEnd);
      this.restStart = 0;
      this.hold(larger);
    }
    this.restEnd += chunk.copy(this.rest!, this.restEnd);
    return true;
  }

  private hold(buffer: Buffer | undefined): void {
    this.door.restBytes += (buffer?.length ?? 0) - (this.rest?.length ?? 0);
    this.rest = buffer;
  }

  // --- The end ---

  /** One last error, behind the replies that are under way; then the connection ends. */
  private reject(text: string): void {
    const { writer } = this.door.turn;
    const mark = writer.length;
    writer.error(text);
    if (this.queue.length > 0) this.queue.add(writer.cut(mark));
    this.session.isEnding = true;
  }

  private mustEnd(): boolean {
    return this.session.isEnding || this.door.isDraining || this.halfClosedSinceMs !== undefined;
  }

  /** What was asked before is answered; while it is paused, whole commands may be among what is left. */
  private halfClose(): void {
    this.halfClosedSinceMs = fromNextSweep;
    if (!this.isPaused) this.forget();
    this.endWhenDone();
  }

  /** Asked to end: at once when nothing is under way, else after it. */
  endWhenDone(): void {
    const isBusy = this.queue.length > 0 || (this.rest !== undefined && !this.session.isEnding);
    if (isBusy || this.endingSinceMs !== undefined || this.socket.destroyed) return;
    this.session.isEnding = true;
    this.endingSinceMs = fromNextSweep;
    this.forget();
    this.socket.end();
    // Read on, or the end of the other side is never seen.
    this.isPaused = false;
    this.socket.resume();
  }

  private ignore(chunk: Buffer): void {
    this.drop ??= dropInput(this.socket);
    this.drop(chunk);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Ends what takes too long. Called now and then. */
  sweep(nowMs: number): void {
    const { idleMs, requestMs } = this.door.limits;
    this.time(nowMs);
    const isOver = (sinceMs: number | undefined) => sinceMs !== undefined && nowMs - sinceMs >= requestMs;
    if (isOver(this.endingSinceMs) || isOver(this.halfClosedSinceMs)) this.destroy();
    else if (isOver(this.unreadSinceMs)) {
      this.door.meter.timedOut += 1;
      this.destroy();
    } else if (this.session.isEnding || this.queue.length > 0 || this.isPaused) {
      // It waits for us, not we for it.
    } else if (isOver(this.requestSinceMs)) {
      this.door.meter.timedOut += 1;
      this.reject(`ERR Protocol error: the request was not complete within ${requestMs} ms`);
      this.door.turn.writer.flush(this.socket);
      this.endWhenDone();
    } else if (idleMs > 0 && nowMs - this.lastBytesMs >= idleMs) {
      this.door.meter.timedOut += 1;
      this.endWhenDone();
    }
  }

  /** What began since the last sweep begins now. */
  private time(nowMs: number): void {
    const timed = (sinceMs: number | undefined) => sinceMs && Math.min(sinceMs, nowMs);
    this.lastBytesMs = Math.min(this.lastBytesMs, nowMs);
    this.requestSinceMs = timed(this.requestSinceMs);
    this.unreadSinceMs = timed(this.unreadSinceMs);
    this.halfClosedSinceMs = timed(this.halfClosedSinceMs);
    this.endingSinceMs = timed(this.endingSinceMs);
  }
}
