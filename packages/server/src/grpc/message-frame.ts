/**
 * How gRPC packs a message into a body: one byte that says whether it is compressed, four for its length, then the message.
 *
 *      00  00 00 00 1b  0a 02 72 6c ...
 *
 * The frame may come in any number of pieces, and a unary call has exactly one.
 */
import { gunzipSync } from 'node:zlib';
import { GrpcError, malformed, statusCodes } from './status.ts';
import { WireWriter } from './wire-writer.ts';

export const headBytes = 5;

/** What a client may name in `grpc-encoding`. */
export const acceptedEncodings = 'identity,gzip';

export type Encoding = 'identity' | 'gzip';

export function parseEncoding(header: string | undefined): Encoding {
  if (header === undefined || header === 'identity') return 'identity';
  if (header === 'gzip') return header;
  throw new GrpcError(
    statusCodes.unimplemented,
    `grpc-encoding must be one of ${acceptedEncodings}, got ${JSON.stringify(header)}`,
  );
}

/** The body of one call, as it arrives. Never holds more than `messageBytesMax` and a frame's head. */
export class RequestBody {
  readonly #messageBytesMax: number;
  #bytes: Buffer | undefined;
  #length = 0;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#messageBytesMax + headBytes) throw tooLarge(this.#messageBytesMax);
    if (this.#bytes === undefined) this.#bytes = chunk;
    else this.#append(this.#bytes, chunk);
    this.#length = length;
    // As early as it can be known: a client that announces gigabytes need not send them first.
    if (length >= headBytes && this.#bytes.readUInt32BE(1) > this.#messageBytesMax)
      throw tooLarge(this.#messageBytesMax);
  }

  /** The one message, unpacked. */
  message(encoding: Encoding): Buffer {
    const bytes = this.#bytes;
    if (bytes === undefined)
      throw new GrpcError(statusCodes.unimplemented, 'a unary call must have one message, got none');
    const end = this.#length < headBytes ? headBytes : headBytes + bytes.readUInt32BE(1);
    if (this.#length < end) throw malformed('the body ends in the middle of a message');
    if (this.#length > end) {
      throw new GrpcError(statusCodes.unimplemented, 'a unary call must have one message, got more');
    }
    return unpacked(bytes.subarray(headBytes, end), bytes[0]!, encoding, this.#messageBytesMax);
  }

  // Copied into one buffer that doubles: a list of pieces would let a client that sends single bytes make each of them an object,
  // and room for the announced length at once would let it take memory with five bytes.
  #append(before: Buffer, chunk: Buffer): void {
    const length = this.#length + chunk.length;
    let bytes = before;
    if (length > before.length) {
      bytes = Buffer.allocUnsafeSlow(Math.max(64, length * 2));
      before.copy(bytes, 0, 0, this.#length);
    }
    chunk.copy(bytes, this.#length);
    this.#bytes = bytes;
  }
}

function unpacked(message: Buffer, flag: number, encoding: Encoding, bytesMax: number): Buffer {
  if (flag === 0) return message;
  if (flag !== 1) throw malformed(`the compressed flag of a message must be 0 or 1, got ${flag}`);
  if (encoding === 'identity') {
    throw new GrpcError(
      statusCodes.internal,
      'a message says that it is compressed, and grpc-encoding does not say how',
    );
  }
  try {
    // The bound is what keeps a few bytes from becoming gigabytes.
    return gunzipSync(message, { maxOutputLength: bytesMax });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax);
    throw malformed('the message is not valid gzip');
  }
}

function tooLarge(bytesMax: number): GrpcError {
  return new GrpcError(
    statusCodes.resourceExhausted,
    `a message must be at most ${bytesMax} bytes, got more. Send less; limits.bodyBytes bounds all but those of Health.`,
  );
}

// One for all calls of a thread: a message is written whole before the next begins.
const writer = new WireWriter();

/** A message in its frame, ready to be sent. */
export function frameOf<Message>(message: Message, write: (writer: WireWriter, message: Message) => void): Buffer {
  writer.start(headBytes);
  write(writer, message);
  const frame = writer.finish();
  frame[0] = 0;
  frame.writeUInt32BE(frame.length - headBytes, 1);
  return frame;
}
