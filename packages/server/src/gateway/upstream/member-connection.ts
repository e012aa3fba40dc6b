/**
 * One connection to a member: a socket, whoever uses it at the moment, and the time by which something must happen on it.
 *
 *      connecting ──► used ──► idle ──► used ──► ... ──► destroyed
 *         │            │         └─ nobody asked anything: bytes that come now are no answer, and the connection ends
 *         │            └─ bytes, the end and the close go to its user
 *         └─ somebody waits for it (`awaitedBy`)
 *
 * All connections are read into one buffer: whoever gets bytes has used or copied them before it returns to the event loop. A buffer
 * for each read would be the largest cost of passing on a small answer.
 */
import { connect, type Socket } from 'node:net';

export interface MemberAddress {
  readonly host: string;
  readonly port: number;
}

/** Whoever uses a connection at the moment. */
export interface ConnectionUser {
  /** Its own only until it returns. */
  bytes(bytes: Buffer): void;
  /** The member sends nothing more. */
  ended(): void;
  /** The connection is no more; it was not the user who destroyed it. */
  closed(error: Error | undefined): void;
  /** There is room again, after a `write` that said false. */
  drained(): void;
  /** Nothing can be written any more. True: what has come already is read all the same, and the user ends the connection. */
  writingFailed(error: Error): boolean;
  /** `deadlineMs` has passed. */
  overdue(): void;
}

/** Whoever waits for a connection. */
export interface ConnectionTaker {
  take(connection: MemberConnection): void;
  /** There will be none: the member cannot be reached, or all that it may have are in use. */
  refuse(message: string, reason: 'connect' | 'busy'): void;
}

/** Where a connection belongs to. */
export interface ConnectionOwner {
  connected(connection: MemberConnection): void;
  /** It is no more. */
  left(connection: MemberConnection): void;
}

const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export class MemberConnection {
  user: ConnectionUser | undefined;
  /** Only until it is connected. */
  awaitedBy: ConnectionTaker | undefined;
  /** By then something must have happened, else its user is told; an idle one ends. Looked at now and then, not to the millisecond. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** How long the member lets it be idle, as it said; undefined: it was not asked yet. */
  memberIdleMs: number | undefined;
  /** It has carried an answer already: it may be closing by the member's own time-out while the next request is written. */
  isReused = false;
  isIdle = false;
  isDestroyed = false;
  private readonly socket: Socket;
  private readonly owner: ConnectionOwner;

  constructor(member: MemberAddress, owner: ConnectionOwner) {
    this.owner = owner;
    let failure: Error | undefined;
    const socket = connect({
      host: member.host,
      port: member.port,
      noDelay: true,
      // A tunnel may be closed one way only; for everything else `ended` says what the end means.
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (length: number) => this.receive(length) },
    });
    this.outliveWriting(socket);
    socket.on('connect', () => owner.connected(this));
    socket.on('end', () => this.memberEnded());
    socket.on('drain', () => this.user?.drained());
    // 'close' follows, and says to whom it matters.
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => this.closed(failure));
    this.socket = socket;
  }

  /**
   * A member may refuse a request before it has read all of it, and hang up. Node destroys a socket at the first byte that cannot be written
   * then, and with it the refusal, which has come already and was not read yet.
   */
  private outliveWriting(socket: Socket): void {
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: NodeJS.ErrnoException) => {
      const isKept = error?.syscall === 'write' && this.user?.writingFailed(error) === true;
      return isKept ? socket : destroy(error);
    };
  }

  private receive(length: number): boolean {
    const { user } = this;
    // An answer to nothing: the next request would take it for its own.
    if (user === undefined) this.destroy();
    else user.bytes(readBuffer.subarray(0, length));
    return true;
  }

  private memberEnded(): void {
    const { user } = this;
    if (user === undefined) this.destroy();
    else user.ended();
  }

  private closed(error: Error | undefined): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    const { user, awaitedBy } = this;
    this.user = undefined;
    this.awaitedBy = undefined;
    user?.closed(error);
    const message = error === undefined ? 'the connection was closed before it was there' : reasonOf(error);
    awaitedBy?.refuse(message, 'connect');
    // Last: whoever repeats its request on another connection goes before those who wait in line.
    this.owner.left(this);
  }

  /** False: it is full, `drained` follows. The bytes must not be changed afterwards. */
  write(bytes: Buffer): boolean {
    return this.socket.write(bytes);
  }

  writeText(text: string): boolean {
    return this.socket.write(text, 'latin1');
  }

  /** Sends nothing more, and goes on reading. */
  endWriting(): void {
    this.socket.end();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Bytes that were written and that the member's side of the kernel did not take yet. */
  get unsentBytes(): number {
    return this.socket.writableLength;
  }

  /** At once, whatever is under way. Its user is not told. */
  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.user = undefined;
    this.socket.destroy();
    this.owner.left(this);
  }
}

/** Of a name with several addresses Node says nothing but what each of them said. */
export function reasonOf(error: Error): string {
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error.message;
}
