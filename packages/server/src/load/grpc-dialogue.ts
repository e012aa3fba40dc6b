/**
 * Envoy's ShouldRateLimit over HTTP/2, frame by frame: a general client costs as much as the server and would measure itself.
 *
 *      HEADERS (the same six fields: indexed after the first time)   DATA (prefix, message)   ──►
 *      ◄──   HEADERS   DATA (prefix, message)   HEADERS (trailers, end of stream)
 *
 * Header blocks of answers are not decoded. A unary call has a message in its answer exactly when its status is OK, so an answer
 * without one is an error. RFC 9113 has the frames, RFC 7541 the header fields.
 */
import type { Dialogue, OpenDialogue } from './dialogue.ts';
import { KeyedBytes, withSomeKey } from './keyed-bytes.ts';
import type { Question } from './load-order.ts';
import type { Outgoing } from './outgoing.ts';

const frame = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };
const flag = { endStream: 1, acknowledge: 1, endHeaders: 4, padded: 8 };
const setting = { enablePush: 2, maxConcurrentStreams: 3 };
const frameHeadBytes = 9;
const prefixBytes = 5;
const mostFrameBytes = 16_384;
/** What each side may send at first, by the standard. */
const firstWindow = 65_535;
const ownWindow = 2 ** 31 - 1;

const path = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

export function grpcDialogue(
  question: Extract<Question, { protocol: 'grpc' }>,
  authority: string,
  depth: number,
): OpenDialogue {
  const message = rateLimitRequest(question);
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  const data = frameOf(frame.data, flag.endStream, Buffer.concat([prefix, message]));
  const calls = {
    first: new KeyedBytes(Buffer.concat([headersFrame(firstHeaders(authority)), data])),
    later: new KeyedBytes(Buffer.concat([headersFrame(laterHeaders), data])),
    dataBytes: data.length,
  };
  return (out, { answered }) => new GrpcDialogue(out, answered, calls, depth);
}

interface Calls {
  readonly first: KeyedBytes;
  readonly later: KeyedBytes;
  /** Of the data frame at the end of each. */
  readonly dataBytes: number;
}

class GrpcDialogue implements Dialogue {
  private readonly streams: OpenStreams;
  private nextStream = 1;
  private depth: number;
  private isGoingAway = false;
  /** Bytes of data that may still be sent, and that were read since the other side was last told. */
  private sendWindow = firstWindow;
  private readBytes = 0;
  private partial: Buffer | undefined;
  private readonly out: Outgoing;
  private readonly answered: (request: number, problem?: string) => void;
  private readonly calls: Calls;

  constructor(out: Outgoing, answered: GrpcDialogue['answered'], calls: Calls, depth: number) {
    this.out = out;
    this.answered = answered;
    this.calls = calls;
    this.depth = depth;
    this.streams = new OpenStreams(depth);
    out.append(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(setting.enablePush);
    out.append(frameOf(frame.settings, 0, settings));
    this.widenWindow(ownWindow - firstWindow);
  }

  room(): number {
    if (this.isGoingAway || !this.streams.hasPlaceFor(this.nextStream)) return 0;
    const byWindow = Math.floor(this.sendWindow / (this.calls.dataBytes - frameHeadBytes));
    return Math.max(0, Math.min(this.depth - this.streams.count, byWindow));
  }

  ask(request: number, key: number): void {
    const { first, later, dataBytes } = this.calls;
    const call = this.nextStream === 1 ? first : later;
    const at = this.out.reserve(call.bytes.length);
    const { bytes } = this.out;
    call.writeTo(bytes, at, key);
    bytes.writeUInt32BE(this.nextStream, at + 5);
    bytes.writeUInt32BE(this.nextStream, at + call.bytes.length - dataBytes + 5);
    this.streams.open(this.nextStream, request);
    this.sendWindow -= dataBytes - frameHeadBytes;
    this.nextStream += 2;
  }

  read(chunk: Buffer, chunkBytes = chunk.length): void {
    const read = chunk.subarray(0, chunkBytes);
    const bytes = this.partial === undefined ? read : Buffer.concat([this.partial, read]);
    let at = 0;
    while (at + frameHeadBytes <= bytes.length) {
      const length = bytes.readUIntBE(at, 3);
      if (length > mostFrameBytes) throw new Error(`a frame must have at most ${mostFrameBytes} bytes, got ${length}`);
      const end = at + frameHeadBytes + length;
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff;
      this.readFrame(bytes[at + 3]!, bytes[at + 4]!, stream, bytes.subarray(at + frameHeadBytes, end));
      at = end;
    }
    this.partial = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
  }

  unanswered(): readonly number[] {
    return this.streams.requests();
  }

  private readFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    switch (type) {
      case frame.data:
        this.readData(streamId, flags, payload);
        break;
      case frame.headers:
        if (flags & flag.endStream) this.end(streamId);
        break;
      case frame.reset:
        this.end(streamId, `the call was reset with code ${payload.readUInt32BE()}`);
        break;
      case frame.settings:
        if ((flags & flag.acknowledge) === 0) this.readSettings(payload);
        break;
      case frame.ping:
        if ((flags & flag.acknowledge) === 0) this.out.append(frameOf(frame.ping, flag.acknowledge, payload));
        break;
      case frame.goAway:
        this.isGoingAway = true;
        break;
      case frame.windowUpdate:
        // Of a single stream: its request went out whole.
        if (streamId === 0) this.sendWindow += payload.readUInt32BE() & 0x7fffffff;
        break;
      // The rest (continuations, priorities) says nothing that is needed here.
    }
  }

  private readData(streamId: number, flags: number, payload: Buffer): void {
    const place = this.streams.placeOf(streamId);
    if (place !== undefined && payload.length > 0) {
      // Answers are small: a message that comes in pieces would be one to look at.
      const isWhole = payload.length >= prefixBytes && payload.readUInt32BE(1) === payload.length - prefixBytes;
      const isMessage = isWhole && this.streams.hasMessage[place] === 0 && (flags & flag.padded) === 0;
      this.streams.hasMessage[place] = isMessage ? 1 : 0;
    }
    this.readBytes += payload.length;
    if (this.readBytes > ownWindow / 2) {
      this.widenWindow(this.readBytes);
      this.readBytes = 0;
    }
    if (flags & flag.endStream) this.end(streamId, 'the answer has no trailers');
  }

  private end(streamId: number, problem?: string): void {
    const place = this.streams.placeOf(streamId);
    if (place === undefined) return;
    const hasMessage = this.streams.hasMessage[place] === 1;
    this.answered(
      this.streams.close(place),
      problem ?? (hasMessage ? undefined : 'the answer has no message: it is a gRPC error'),
    );
  }

  private readSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) === setting.maxConcurrentStreams) {
        this.depth = Math.min(this.depth, payload.readUInt32BE(at + 2));
      }
    }
    this.out.append(frameOf(frame.settings, flag.acknowledge, Buffer.alloc(0)));
  }

  private widenWindow(bytes: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    this.out.append(frameOf(frame.windowUpdate, 0, payload));
  }
}

/**
 * The streams that wait for their answers, each in the place that follows from its number. A map of objects would do, but what it makes and outgrows has to be
 * collected, and the generator's standstills count against the service.
 */
class OpenStreams {
  count = 0;
  /** 1 where the answer's message has come. */
  readonly hasMessage: Uint8Array;
  /** Which stream is in a place; 0: none. */
  private readonly streamIds: Uint32Array;
  private readonly asked: Float64Array;

  /** So many at once; one that is answered last must not stand in the way of those that came after it for long. */
  constructor(depth: number) {
    const places = 2 ** Math.ceil(Math.log2(depth * 8));
    this.hasMessage = new Uint8Array(places);
    this.streamIds = new Uint32Array(places);
    this.asked = new Float64Array(places);
  }

  hasPlaceFor(streamId: number): boolean {
    return this.streamIds[this.placeFor(streamId)] === 0;
  }

  open(streamId: number, request: number): void {
    const place = this.placeFor(streamId);
    this.streamIds[place] = streamId;
    this.hasMessage[place] = 0;
    this.asked[place] = request;
    this.count += 1;
  }

  placeOf(streamId: number): number | undefined {
    const place = this.placeFor(streamId);
    return streamId !== 0 && this.streamIds[place] === streamId ? place : undefined;
  }

  /** Gives the request that it was. */
  close(place: number): number {
    this.streamIds[place] = 0;
    this.count -= 1;
    return this.asked[place]!;
  }

  requests(): readonly number[] {
    return Array.from(this.asked).filter((_, place) => this.streamIds[place] !== 0);
  }

  // A client's streams have odd numbers.
  private placeFor(streamId: number): number {
    return (streamId >>> 1) & (this.streamIds.length - 1);
  }
}

function frameOf(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  return Buffer.concat([head, payload]);
}

function headersFrame(block: Buffer): Buffer {
  return frameOf(frame.headers, flag.endHeaders, block);
}

/** `:method: POST` and `:scheme: http`, of the table that the standard has. */
const methodAndScheme = [0x83, 0x86];

/** Each field is added to the other side's table, from which later calls take it. */
function firstHeaders(authority: string): Buffer {
  const indexed = 0x40;
  const known = { authority: 1, path: 4, contentType: 31 };
  return Buffer.concat([
    Buffer.from([...methodAndScheme, indexed | known.path]),
    text(path),
    Buffer.from([indexed | known.authority]),
    text(authority),
    Buffer.from([indexed | known.contentType]),
    text('application/grpc'),
    Buffer.from([indexed]),
    text('te'),
    text('trailers'),
  ]);
}

/** The newest entry of the table is 62: te, content-type, authority, path. */
const laterHeaders = Buffer.from([...methodAndScheme, 0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62]);

/** As HPACK writes it, and protobuf too: the length in one byte, then the bytes. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length > 126)
    throw new RangeError(`A text of a load question must have at most 126 bytes, got ${bytes.length}.`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** `RateLimitRequest` with one descriptor of one entry. */
function rateLimitRequest({ domain, entry, value }: Extract<Question, { protocol: 'grpc' }>): Buffer {
  const field = (number: number, content: string | Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2]), text(content)]);
  const keyAndValue = Buffer.concat([field(1, entry), field(2, withSomeKey(value))]);
  return Buffer.concat([field(1, domain), field(2, field(1, keyAndValue))]);
}
