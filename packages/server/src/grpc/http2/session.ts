/**
 * HTTP/2 on one connection, the server's side (RFC 9113): frames in, streams to whoever answers them, frames out.
 *
 *      bytes ──► preface ──► frames ──┬──► HEADERS, CONTINUATION ──► header block ──► a stream ──► owner.takes
 *                                     ├──► DATA ─────────────────────────────────────► stream.reader
 *                                     ├──► RST_STREAM, WINDOW_UPDATE, SETTINGS, PING, GOAWAY
 *                                     └──► what breaks the protocol: GOAWAY with the reason, and the end
 *
 * Own code, because Node's makes some forty objects of each call and keeps them in tables that its quick collections cannot clear: half of a call's time, and
 * standstills of tens of milliseconds (docs/decisions/0022). It has what a server of short calls needs: no push, no priorities, and no compression of what it
 * sends. What a client could make it hold, or do for nothing, is bounded:
 *
 *      streams at once, of which those count that still wait for an answer after they were reset      `streamsMax`
 *      a header block, and the fields that it unpacks to                                              `headerBlockBytesMax`, `fieldListBytesMax`
 *      a body in pieces                                                                               the reader
 *      what it is told and does not take, and how long the others wait for their turn                 the owner, who is asked before each frame
 */
import type { OutputSink } from '../../service/output-buffer.ts';
import { UnderWay } from '../../service/under-way.ts';
import { emptyTable } from './field-block.ts';
import { FieldReader, fieldListBytesMax } from './field-reader.ts';
import { tableBytesMax } from './field-table.ts';
import {
  BrokenProtocol,
  clientPreface,
  type EndCode,
  endCodes,
  firstWindowBytes,
  frameFlags,
  frameHeadBytes,
  frameTypes,
  payloadBytesMax,
  protocolError,
  settingIds,
  windowBytesMax,
} from './frame.ts';
import type { FrameWriter } from './frame-writer.ts';
import { areTrailers, contentLengthOf, isPseudo, type RequestHead, requestHeadOf } from './request-head.ts';
import { Stream, type StreamCarrier } from './stream.ts';

export interface SessionLimits {
  /** At once. */
  readonly streamsMax: number;
  /** What a client may send of one body before it hears of more. */
  readonly windowBytes: number;
}

export interface SessionOwner {
  readonly openStreams: number;
  /** Asked before each frame: a socket brings thousands of them at once, each may be a call, and an answer a hundred times as long. */
  readonly wantsMore: boolean;
  /** Gives it a reader. False: there is no room for it, and the client may ask somebody else. */
  takes(stream: Stream, head: RequestHead): boolean;
  /** Gives it a reader, too, which says that the header list is longer than `fieldListBytesMax`. */
  takesTooLong(stream: Stream): void;
  /** The client's first SETTINGS have come. */
  greeted(): void;
  /** A PING was answered. */
  ponged(): void;
  /** The client broke the protocol. It was told, and nothing more is read from it. */
  broken(error: BrokenProtocol): void;
}

// All bodies of a connection together; whoever holds them has a bound of its own.
const connectionWindowBytes = 2 ** 20;
const headerBlockBytesMax = 65_536;
const continuationsMax = 16;
// What is kept for the beginnings of frames.
const keptPartialBytes = 1024;
const nothing = Buffer.alloc(0);
const streamBits = 2 ** 31 - 1;
const settingBytes = 6;
const pingBytes = 8;
const priorityBytes = 5;
const pingPayload = Buffer.alloc(pingBytes);

/** A header block that goes on in CONTINUATION frames. */
interface PartialBlock {
  readonly streamId: number;
  readonly isLast: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

export class Session implements StreamCarrier {
  readonly #sink: OutputSink;
  readonly #writer: FrameWriter;
  readonly #limits: SessionLimits;
  readonly #owner: SessionOwner;
  readonly #fields = new FieldReader();
  readonly #open = new UnderWay<Stream>();
  /** The one that the last frame was about: the next one often is, too. */
  #recent: Stream | undefined;
  /** The beginning of the preface or of a frame: `#partial[0..#partialBytes)`. */
  #partial: Buffer = nothing;
  #partialBytes = 0;
  #hasPreface = false;
  #hasSettings = false;
  #block: PartialBlock | undefined;
  /** The latest that began, and the latest of them that was taken: once the client was told to go, more may begin, and none is taken. */
  #latestStream = 0;
  #lastTaken = 0;
  #receiveBytes = connectionWindowBytes;
  #sendBytes = firstWindowBytes;
  #streamSendBytes = firstWindowBytes;
  #mustEmptyTable = false;
  #isGoingAway = false;
  #isOver = false;

  constructor(sink: OutputSink, writer: FrameWriter, limits: SessionLimits, owner: SessionOwner) {
    this.#sink = sink;
    this.#writer = writer;
    this.#limits = limits;
    this.#owner = owner;
  }

  /** Told to go, or gone: no stream begins any more. */
  get isGoingAway(): boolean {
    return this.#isGoingAway || this.#isOver;
  }

  // --- Bytes ---

  /** Says how many of the bytes it took. The rest are to be given again when the owner wants more. */
  receive(chunk: Buffer): number {
    if (this.#isOver) return chunk.length;
    let taken = chunk.length;
    try {
      taken = this.#read(chunk);
    } catch (error) {
      if (!(error instanceof BrokenProtocol)) throw error;
      this.#break(error);
    }
    this.#writer.send();
    return taken;
  }

  #read(chunk: Buffer): number {
    let at = 0;
    if (!this.#hasPreface) at = this.#readPreface(chunk);
    if (this.#hasPreface && this.#partialBytes > 0) at = this.#readPartial(chunk, at);
    while (at + frameHeadBytes <= chunk.length && !this.#isOver) {
      if (!this.#owner.wantsMore) return at;
      const end = at + frameHeadBytes + payloadLength(chunk, at);
      if (end > chunk.length) break;
      this.#readFrame(chunk, at, end);
      at = end;
    }
    if (at < chunk.length && this.#hasPreface) this.#keep(chunk, at, chunk.length);
    return chunk.length;
  }

  #readPreface(chunk: Buffer): number {
    const had = this.#partialBytes;
    const at = Math.min(clientPreface.length - had, chunk.length);
    this.#keep(chunk, 0, at);
    if (this.#partial.compare(clientPreface, had, this.#partialBytes, had, this.#partialBytes) !== 0) {
      throw protocolError('it does not speak HTTP/2');
    }
    if (this.#partialBytes === clientPreface.length) {
      this.#hasPreface = true;
      this.#partialBytes = 0;
      this.#greet();
    }
    return at;
  }

  /** Completes the frame that was begun before, as far as it goes; says where the next one begins. */
  #readPartial(chunk: Buffer, start: number): number {
    let at = start;
    for (const isHeadKnown of [false, true]) {
      const whole = isHeadKnown ? frameHeadBytes + payloadLength(this.#partial, 0) : frameHeadBytes;
      const next = Math.min(chunk.length, at + Math.max(0, whole - this.#partialBytes));
      this.#keep(chunk, at, next);
      at = next;
      if (this.#partialBytes < whole) return at;
    }
    const end = this.#partialBytes;
    const frame = this.#partial;
    this.#partialBytes = 0;
    // One large frame in two pieces is no reason to keep so much for as long as the client stays.
    if (frame.length > keptPartialBytes) this.#partial = nothing;
    this.#readFrame(frame, 0, end);
    return at;
  }

  /** Grows with what has come, not with what was announced. */
  #keep(chunk: Buffer, start: number, end: number): void {
    const bytes = this.#partialBytes + end - start;
    if (bytes > this.#partial.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(64, 2 * bytes));
      this.#partial.copy(larger, 0, 0, this.#partialBytes);
      this.#partial = larger;
    }
    chunk.copy(this.#partial, this.#partialBytes, start, end);
    this.#partialBytes = bytes;
  }

  // --- Frames that come ---

  #readFrame(bytes: Buffer, start: number, end: number): void {
    const type = bytes[start + 3]!;
    const flags = bytes[start + 4]!;
    const streamId = bytes.readUInt32BE(start + 5) & streamBits;
    const at = start + frameHeadBytes;
    if (!this.#hasSettings && type !== frameTypes.settings) throw protocolError('its first frame is not SETTINGS');
    if (this.#block !== undefined) {
      this.#readContinuation(type, flags, streamId, bytes, at, end);
      return;
    }
    switch (type) {
      case frameTypes.data:
        this.#readData(flags, streamId, bytes, at, end);
        break;
      case frameTypes.headers:
        this.#readHeaders(flags, streamId, bytes, at, end);
        break;
      case frameTypes.settings:
        this.#readSettings(flags, streamId, bytes, at, end);
        break;
      case frameTypes.windowUpdate:
        mustHaveBytes(type, end - at, 4);
        this.#widen(streamId, bytes.readUInt32BE(at) & streamBits);
        break;
      case frameTypes.ping:
        mustHaveBytes(type, end - at, pingBytes);
        mustBeOfConnection(type, streamId);
        if ((flags & frameFlags.acknowledge) === 0) {
          this.#out().frame(frameTypes.ping, frameFlags.acknowledge, 0, bytes, at, end);
        } else this.#owner.ponged();
        break;
      case frameTypes.reset: {
        mustHaveBytes(type, end - at, 4);
        mustNotBeIdle(type, streamId, this.#latestStream);
        const stream = this.#find(streamId);
        if (stream !== undefined) this.close(stream);
        break;
      }
      case frameTypes.priority:
        // Nobody has used them for years.
        if (streamId === 0) throw protocolError('PRIORITY names no stream');
        mustHaveBytes(type, end - at, priorityBytes);
        break;
      case frameTypes.goAway:
        mustBeOfConnection(type, streamId);
        if (end - at < 8) throw wrongSize(type, end - at);
        break;
      case frameTypes.pushPromise:
        throw protocolError('a client must not push');
      case frameTypes.continuation:
        throw protocolError('CONTINUATION continues nothing');
      // Others have to be passed over.
    }
  }

  #readSettings(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const isAnswer = (flags & frameFlags.acknowledge) !== 0;
    mustBeOfConnection(frameTypes.settings, streamId);
    if ((end - start) % settingBytes !== 0 || (isAnswer && end > start))
      throw wrongSize(frameTypes.settings, end - start);
    if (isAnswer) {
      if (!this.#hasSettings) throw protocolError('its first SETTINGS are an acknowledgement');
      return;
    }
    const streamSendBytes = this.#streamSendBytes;
    for (let at = start; at < end; at += settingBytes) {
      this.#applySetting(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
    // Once: a frame may name another window a thousand times and more, each for all streams.
    this.#moveWindows(this.#streamSendBytes - streamSendBytes);
    this.#out().frame(frameTypes.settings, frameFlags.acknowledge, 0, Buffer.alloc(0));
    if (!this.#hasSettings) this.#owner.greeted();
    this.#hasSettings = true;
    if (this.#streamSendBytes > streamSendBytes) this.#sendAllMore();
  }

  /** What was sent before counts on: a window may become less than nothing. */
  #moveWindows(bytes: number): void {
    if (bytes === 0) return;
    for (const stream of this.#open) {
      stream.sendBytes += bytes;
      if (stream.sendBytes > windowBytesMax) throw tooWide();
    }
  }

  #applySetting(id: number, value: number): void {
    if (id === settingIds.firstWindowBytes) {
      if (value > windowBytesMax) {
        throw new BrokenProtocol(endCodes.flowControlError, `SETTINGS_INITIAL_WINDOW_SIZE is too large: ${value}`);
      }
      this.#streamSendBytes = value;
    } else if (id === settingIds.headerTableBytes) {
      if (value < tableBytesMax) this.#mustEmptyTable = true;
    } else if (id === settingIds.enablePush) {
      if (value > 1) throw protocolError(`SETTINGS_ENABLE_PUSH must be 0 or 1, got ${value}`);
    } else if (id === settingIds.payloadBytes) {
      if (value < payloadBytesMax || value >= 2 ** 24)
        throw protocolError(`SETTINGS_MAX_FRAME_SIZE must not be ${value}`);
    }
  }

  #widen(streamId: number, bytes: number): void {
    if (streamId === 0) {
      if (bytes === 0) throw protocolError('WINDOW_UPDATE by nothing');
      const wasFull = this.#sendBytes <= 0;
      this.#sendBytes += bytes;
      if (this.#sendBytes > windowBytesMax) throw tooWide();
      if (wasFull) this.#sendAllMore();
      return;
    }
    mustNotBeIdle(frameTypes.windowUpdate, streamId, this.#latestStream);
    const stream = this.#find(streamId);
    if (stream === undefined) return;
    stream.sendBytes += bytes;
    if (bytes === 0) this.reset(stream, endCodes.protocolError);
    else if (stream.sendBytes > windowBytesMax) this.reset(stream, endCodes.flowControlError);
    else this.sendMore(stream);
  }

  #readHeaders(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    // A client's streams have odd numbers.
    if (streamId % 2 === 0) throw protocolError(`HEADERS of stream ${streamId}`);
    let at = start;
    let blockEnd = end;
    if ((flags & frameFlags.padded) !== 0) {
      blockEnd -= paddingOf(bytes, at, end);
      at += 1;
    }
    if ((flags & frameFlags.priority) !== 0) at += priorityBytes;
    if (at > blockEnd) throw protocolError('HEADERS have more padding than bytes');
    const isLast = (flags & frameFlags.endStream) !== 0;
    if ((flags & frameFlags.endHeaders) !== 0) {
      this.#takeBlock(streamId, isLast, bytes, at, blockEnd);
      return;
    }
    this.#block = { streamId, isLast, parts: [Buffer.from(bytes.subarray(at, blockEnd))], bytes: blockEnd - at };
  }

  #readContinuation(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block!;
    if (type !== frameTypes.continuation || streamId !== block.streamId) {
      throw protocolError('a header block is not continued');
    }
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    block.bytes += end - start;
    if (block.bytes > headerBlockBytesMax || block.parts.length > continuationsMax) {
      throw new BrokenProtocol(
        endCodes.enhanceYourCalm,
        `a header block must have at most ${headerBlockBytesMax} bytes in ${continuationsMax} frames`,
      );
    }
    if ((flags & frameFlags.endHeaders) === 0) return;
    this.#block = undefined;
    this.#takeBlock(streamId, block.isLast, Buffer.concat(block.parts), 0, block.bytes);
  }

  #takeBlock(streamId: number, isLast: boolean, bytes: Buffer, start: number, end: number): void {
    // Also where nobody wants it: the later ones refer to it.
    const { fields, isTooLong } = this.#fields.read(bytes, start, end);
    if (streamId <= this.#latestStream) {
      const stream = this.#find(streamId);
      if (stream === undefined) {
        if (fields.some(isPseudo)) throw protocolError(`HEADERS begin stream ${streamId} after later ones, or again`);
        // Trailers of one that was reset a moment ago; what was still under way means nothing.
        return;
      }
      if (stream.isReceived) this.reset(stream, endCodes.streamClosed);
      else if (!isLast || isTooLong || !areTrailers(fields)) this.reset(stream, endCodes.protocolError);
      else this.#receivedAll(stream);
      return;
    }
    this.#latestStream = streamId;
    // It was told which is the last one that counts, and may ask for the others elsewhere.
    if (this.isGoingAway) return;
    this.#lastTaken = streamId;
    const stream = new Stream(streamId, this, this.#limits.windowBytes, this.#streamSendBytes);
    this.#open.add(stream);
    this.#recent = stream;
    stream.isReceived = isLast;
    if (isTooLong) this.#owner.takesTooLong(stream);
    else this.#begin(stream, requestHeadOf(fields));
    if (isLast && !stream.isClosed) this.#receivedAll(stream);
  }

  #begin(stream: Stream, head: RequestHead | undefined): void {
    stream.expectedBytes = head && contentLengthOf(head);
    if (head === undefined || Number.isNaN(stream.expectedBytes)) {
      this.reset(stream, endCodes.protocolError);
      return;
    }
    const hasRoom = Math.max(this.#open.count, this.#owner.openStreams + 1) <= this.#limits.streamsMax;
    if (!hasRoom || !this.#owner.takes(stream, head)) this.reset(stream, endCodes.refusedStream);
  }

  #readData(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    mustNotBeIdle(frameTypes.data, streamId, this.#latestStream);
    this.#receiveBytes -= end - start;
    // Widened long before it is used up, so nobody can send more than it.
    if (this.#receiveBytes < connectionWindowBytes / 2) {
      this.#out().numbers(frameTypes.windowUpdate, 0, connectionWindowBytes - this.#receiveBytes);
      this.#receiveBytes = connectionWindowBytes;
    }
    let at = start;
    let dataEnd = end;
    if ((flags & frameFlags.padded) !== 0) {
      dataEnd -= paddingOf(bytes, at, end);
      at += 1;
      if (at > dataEnd) throw protocolError('DATA has more padding than bytes');
    }
    const stream = this.#find(streamId);
    if (stream === undefined) return;
    if (stream.isReceived) {
      this.reset(stream, endCodes.streamClosed);
      return;
    }
    stream.receiveBytes -= dataEnd - at;
    stream.bodyBytes += dataEnd - at;
    const isLast = (flags & frameFlags.endStream) !== 0;
    if (stream.receiveBytes < 0) this.reset(stream, endCodes.flowControlError);
    else if (stream.bodyBytes > (stream.expectedBytes ?? stream.bodyBytes)) this.reset(stream, endCodes.protocolError);
    else {
      // Padding is for us, the body for the reader, whose bound is below the window.
      if (dataEnd - at < end - start && !isLast) {
        this.#out().numbers(frameTypes.windowUpdate, streamId, end - start - (dataEnd - at));
      }
      const data = bytes.subarray(at, dataEnd);
      // What waits for more must not keep everything alive that came with it.
      if (data.length > 0) stream.reader!.received(isLast ? data : Buffer.from(data));
      if (isLast && !stream.isClosed) this.#receivedAll(stream);
    }
  }

  #receivedAll(stream: Stream): void {
    if (stream.bodyBytes !== (stream.expectedBytes ?? stream.bodyBytes)) {
      this.reset(stream, endCodes.protocolError);
      return;
    }
    stream.isReceived = true;
    stream.reader!.receivedAll();
  }

  #find(streamId: number): Stream | undefined {
    if (this.#recent?.id === streamId && !this.#recent.isClosed) return this.#recent;
    const found = this.#open.find((stream) => stream.id === streamId);
    if (found !== undefined) this.#recent = found;
    return found;
  }

  // --- Frames that go ---

  sendHeaders(stream: Stream, block: Buffer, isLast: boolean): void {
    const flags = frameFlags.endHeaders | (isLast ? frameFlags.endStream : 0);
    const whole = this.#mustEmptyTable ? Buffer.concat([emptyTable, block]) : block;
    this.#mustEmptyTable = false;
    this.#out().frame(frameTypes.headers, flags, stream.id, whole);
  }

  sendMore(stream: Stream): void {
    const { unsent } = stream;
    let at = 0;
    while (at < unsent.length) {
      const room = Math.min(this.#sendBytes, stream.sendBytes, payloadBytesMax);
      if (room <= 0) break;
      const end = Math.min(unsent.length, at + room);
      this.#out().frame(frameTypes.data, 0, stream.id, unsent, at, end);
      this.#sendBytes -= end - at;
      stream.sendBytes -= end - at;
      at = end;
    }
    stream.unsent = unsent.subarray(at);
    if (stream.trailers === undefined || stream.isHeldUp) return;
    this.sendHeaders(stream, stream.trailers, true);
    if (stream.isReceived) this.close(stream);
    else this.reset(stream, endCodes.noError);
  }

  #sendAllMore(): void {
    for (const stream of this.#open) if (stream.isHeldUp) this.sendMore(stream);
  }

  reset(stream: Stream, code: EndCode): void {
    this.#out().numbers(frameTypes.reset, stream.id, code);
    this.close(stream);
  }

  close(stream: Stream): void {
    if (stream.isClosed) return;
    stream.isClosed = true;
    this.#open.delete(stream);
    stream.reader?.closed();
  }

  ping(): void {
    if (!this.#isOver) this.#out().frame(frameTypes.ping, 0, 0, pingPayload);
  }

  /** The last stream that was taken, so that the client knows which others it may safely ask elsewhere. What was begun is finished. */
  goAway(): void {
    if (this.isGoingAway) return;
    this.#isGoingAway = true;
    if (this.#hasPreface) this.#sayGoodbye(endCodes.noError, '');
  }

  /** The client says nothing more: requests that are not whole never will be. */
  endInput(): void {
    for (const stream of this.#open) if (!stream.isReceived) this.close(stream);
  }

  /** The connection is gone, or is not listened to any more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#open) this.close(stream);
  }

  #greet(): void {
    const settings = Buffer.alloc(3 * settingBytes);
    const put = (index: number, id: number, value: number) => {
      settings.writeUInt16BE(id, index * settingBytes);
      settings.writeUInt32BE(value, index * settingBytes + 2);
    };
    put(0, settingIds.concurrentStreams, this.#limits.streamsMax);
    put(1, settingIds.firstWindowBytes, this.#limits.windowBytes);
    put(2, settingIds.headerListBytes, fieldListBytesMax);
    const out = this.#out();
    out.frame(frameTypes.settings, 0, 0, settings);
    out.numbers(frameTypes.windowUpdate, 0, connectionWindowBytes - firstWindowBytes);
    if (this.#isGoingAway) this.#sayGoodbye(endCodes.noError, '');
  }

  #break(error: BrokenProtocol): void {
    if (this.#hasPreface) this.#sayGoodbye(error.code, error.message);
    this.end();
    this.#owner.broken(error);
  }

  #sayGoodbye(code: EndCode, why: string): void {
    const payload = Buffer.alloc(8 + why.length);
    payload.writeUInt32BE(this.#lastTaken, 0);
    payload.writeUInt32BE(code, 4);
    payload.write(why, 8, 'latin1');
    this.#out().frame(frameTypes.goAway, 0, 0, payload);
  }

  #out(): FrameWriter {
    this.#writer.turnTo(this.#sink);
    return this.#writer;
  }
}

function payloadLength(bytes: Buffer, at: number): number {
  const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
  if (length > payloadBytesMax) throw wrongSize(bytes[at + 3]!, length);
  return length;
}

/** How many bytes at the end are padding. The byte that says so is not one of them. */
function paddingOf(bytes: Buffer, at: number, end: number): number {
  if (at === end) throw protocolError('a frame with padding is empty');
  return bytes[at]!;
}

const nameOf = (type: number) =>
  Object.entries(frameTypes).find(([, number]) => number === type)?.[0] ?? `type ${type}`;

const wrongSize = (type: number, bytes: number) =>
  new BrokenProtocol(endCodes.frameSizeError, `a frame (${nameOf(type)}) must not have ${bytes} bytes`);

const tooWide = () => new BrokenProtocol(endCodes.flowControlError, `a window must be at most ${windowBytesMax} bytes`);

function mustHaveBytes(type: number, bytes: number, expected: number): void {
  if (bytes !== expected) throw wrongSize(type, bytes);
}

function mustBeOfConnection(type: number, streamId: number): void {
  if (streamId !== 0)
    throw protocolError(`a frame (${nameOf(type)}) is about stream ${streamId}, and must be about none`);
}

function mustNotBeIdle(type: number, streamId: number, latest: number): void {
  if (streamId === 0 || streamId > latest || streamId % 2 === 0) {
    throw protocolError(`a frame (${nameOf(type)}) is about stream ${streamId}, which was not begun`);
  }
}
