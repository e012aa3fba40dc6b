/** Both ends of a session as bytes: what a client says, and what it is told. */
import type { BrokenProtocol } from './frame.ts';
import { clientPreface, frameFlags, frameHeadBytes, frameTypes, settingIds } from './frame.ts';
import { FrameWriter } from './frame-writer.ts';
import type { RequestHead } from './request-head.ts';
import { Session } from './session.ts';
import type { Stream } from './stream.ts';

export function frame(type: number, flags: number, streamId: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload as string, 'hex');
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(bytes.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId >>> 0, 5);
  return Buffer.concat([head, bytes]);
}

export const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};

export function settings(values: Readonly<Record<number, number>> = {}): Buffer {
  const parts = Object.entries(values).map(([id, value]) => {
    const bytes = Buffer.alloc(6);
    bytes.writeUInt16BE(Number(id), 0);
    bytes.writeUInt32BE(value, 2);
    return bytes;
  });
  return frame(frameTypes.settings, 0, 0, Buffer.concat(parts));
}

/** `:method: POST`, `:scheme: http`, `:path: /`, by their numbers. */
export const requestBlock = Buffer.of(0x83, 0x86, 0x84);

export const headers = (streamId: number, block: Buffer = requestBlock, flags: number = frameFlags.endHeaders) =>
  frame(frameTypes.headers, flags, streamId, block);

export const data = (streamId: number, bytes: Buffer | string, isLast = false) =>
  frame(frameTypes.data, isLast ? frameFlags.endStream : 0, streamId, bytes);

export const endOfRequest: number = frameFlags.endHeaders | frameFlags.endStream;

export interface ToldFrame {
  readonly type: string;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

const nameOf = (type: number) => Object.entries(frameTypes).find(([, number]) => number === type)![0];

export class Conversation {
  readonly session: Session;
  readonly requests: {
    stream: Stream;
    head: RequestHead | undefined;
    body: Buffer;
    isWhole: boolean;
    isClosed: boolean;
  }[] = [];
  readonly sink = { writableLength: 0, write: (bytes: Buffer) => this.#chunks.push(Buffer.from(bytes)) > 0 };
  brokenBy: BrokenProtocol | undefined;
  pongs = 0;
  greetings = 0;
  openStreams = 0;
  hasRoom = true;
  wantsMore = () => true;
  /** What is done with each request that is whole. */
  answer: (stream: Stream) => void = () => undefined;
  readonly #writer = new FrameWriter();
  #chunks: Buffer[] = [];

  constructor({ streamsMax = 10, windowBytes = 65_535 } = {}) {
    const conversation = this;
    this.session = new Session(
      this.sink,
      this.#writer,
      { streamsMax, windowBytes },
      {
        get openStreams() {
          return conversation.openStreams;
        },
        get wantsMore() {
          return conversation.wantsMore();
        },
        takes: (stream, head) => this.hasRoom && this.#take(stream, head),
        takesTooLong: (stream) => void this.#take(stream, undefined),
        greeted: () => {
          this.greetings += 1;
        },
        ponged: () => {
          this.pongs += 1;
        },
        broken: (error) => {
          this.brokenBy = error;
        },
      },
    );
  }

  #take(stream: Stream, head: RequestHead | undefined): boolean {
    const request = { stream, head, body: Buffer.alloc(0), isWhole: false, isClosed: false };
    stream.reader = {
      received: (chunk) => {
        request.body = Buffer.concat([request.body, chunk]);
      },
      receivedAll: () => {
        request.isWhole = true;
        this.answer(stream);
      },
      closed: () => {
        request.isClosed = true;
      },
    };
    this.requests.push(request);
    return true;
  }

  /** A greeting as every client has it; what the server says to it is left out of `told`. */
  greet(values: Readonly<Record<number, number>> = {}): this {
    this.say(clientPreface, settings(values), frame(frameTypes.settings, frameFlags.acknowledge, 0));
    this.told();
    return this;
  }

  say(...frames: readonly Buffer[]): this {
    let rest = Buffer.concat(frames);
    do rest = rest.subarray(this.session.receive(rest));
    while (rest.length > 0);
    return this;
  }

  /** The same, a byte at a time. */
  spell(...frames: readonly Buffer[]): this {
    for (const byte of Buffer.concat(frames)) this.session.receive(Buffer.of(byte));
    return this;
  }

  /** The frames since the last call. */
  told(): ToldFrame[] {
    this.#writer.send();
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    const frames: ToldFrame[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + frameHeadBytes + bytes.readUIntBE(at, 3);
      frames.push({
        type: nameOf(bytes[at + 3]!),
        flags: bytes[at + 4]!,
        streamId: bytes.readUInt32BE(at + 5),
        payload: bytes.subarray(at + frameHeadBytes, end),
      });
      at = end;
    }
    return frames;
  }

  /** The same, in words: `data 1 "68656c6c6f"`. */
  toldInWords(): string[] {
    return this.told().map(({ type, flags, streamId, payload }) => {
      const isLast = (type === 'data' || type === 'headers') && (flags & frameFlags.endStream) !== 0;
      const isAnswer = (type === 'settings' || type === 'ping') && (flags & frameFlags.acknowledge) !== 0;
      const bytes = payload.length > 16 ? `${payload.length} bytes` : payload.toString('hex');
      return [type, streamId, bytes, isLast && 'last', isAnswer && 'answer']
        .filter((part) => part !== false && part !== '')
        .join(' ');
    });
  }
}

export const windowOf = (bytes: number) => ({ [settingIds.firstWindowBytes]: bytes });
