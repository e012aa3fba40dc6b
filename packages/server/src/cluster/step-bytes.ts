/**
 * Steps as bytes, one after the other: nearly all of them are plain checks, and these are neither written nor read as text. Numbers are
 * little-endian.
 *
 *      plain check    kind u16 │ key's bytes u16 │ time f64 │ cost f64 │ key, UTF-8
 *      anything else  65535 u16 │ 0 u16          │ time f64 │ bytes u32 │ its batch, JSON
 */
import { SluiceError } from 'sluice';

const batchKind = 0xffff;
const mostKeyBytes = 0xffff;
const plainHead = 20;
const batchHead = 16;
const fewBytes = 512;
// A writer that had to hold more, once, does not keep the room for it.
const mostKeptBytes = 16 * 1024;
// Of UTF-8, for each unit of a text.
const mostBytesPerUnit = 3;

export class StepWriter {
  length = 0;
  private bytes: Buffer = Buffer.allocUnsafe(fewBytes);
  private view = viewOf(this.bytes);

  /** False: it has to be written as a batch, and nothing was. */
  plain(kind: number, atMs: number, cost: number, key: string): boolean {
    if (kind >= batchKind || key.length * mostBytesPerUnit > mostKeyBytes) return false;
    this.makeRoom(plainHead + key.length * mostBytesPerUnit);
    const { view, length: at } = this;
    const end = this.writeKey(key, at + plainHead);
    if (end < 0) return false;
    view.setUint16(at, kind, true);
    view.setUint16(at + 2, end - at - plainHead, true);
    view.setFloat64(at + 4, atMs, true);
    view.setFloat64(at + 12, cost, true);
    this.length = end;
    return true;
  }

  /** Where the key ends; below 0: bytes cannot say what it is. */
  private writeKey(key: string, start: number): number {
    const { bytes } = this;
    let seen = 0;
    // Keys are short: to ask the runtime takes longer.
    for (let i = 0; i < key.length; i += 1) {
      const unit = key.charCodeAt(i);
      seen |= unit;
      bytes[start + i] = unit;
    }
    if (seen < 0x80) return start + key.length;
    const end = start + bytes.write(key, start);
    // Half of a pair of surrogates has no UTF-8: the copy would count another key.
    return bytes.toString('utf8', start, end) === key ? end : -1;
  }

  batch(atMs: number, json: string): void {
    const bytes = Buffer.byteLength(json);
    this.makeRoom(batchHead + bytes);
    const { view, length: at } = this;
    view.setUint16(at, batchKind, true);
    view.setUint16(at + 2, 0, true);
    view.setFloat64(at + 4, atMs, true);
    view.setUint32(at + 12, bytes, true);
    this.bytes.write(json, at + batchHead);
    this.length = at + batchHead + bytes;
  }

  /** All that was written. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    if (this.bytes.length > mostKeptBytes) this.hold(Buffer.allocUnsafe(fewBytes));
  }

  private makeRoom(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.length);
    this.hold(larger);
  }

  private hold(bytes: Buffer): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

/** Whoever wants to know of each step. */
export interface StepVisitor {
  /** The key is the UTF-8 bytes from `start` up to `end`. False: that is enough. */
  plain(kind: number, atMs: number, cost: number, bytes: Uint8Array, start: number, end: number): boolean;
  batch(atMs: number, json: string): boolean;
}

/** Reads the bytes of others. */
export class StepBytes {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  /** All steps from `start` up to `end`; false where the visitor said so. Throws where they are none. */
  visit(start: number, end: number, visitor: StepVisitor): boolean {
    const { bytes, view } = this;
    if (end > bytes.length) throw tooShort(end, bytes.length);
    for (let at = start; at < end; ) {
      if (at + batchHead > end) throw tooShort(at + batchHead, end);
      const kind = view.getUint16(at, true);
      const isBatch = kind === batchKind;
      const from = at + (isBatch ? batchHead : plainHead);
      if (from > end) throw tooShort(from, end);
      const to = from + (isBatch ? view.getUint32(at + 12, true) : view.getUint16(at + 2, true));
      if (to > end) throw tooShort(to, end);
      const atMs = finite('time', view.getFloat64(at + 4, true));
      const goesOn = isBatch
        ? visitor.batch(atMs, Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString())
        : visitor.plain(kind, atMs, finite('cost', view.getFloat64(at + 12, true)), bytes, from, to);
      if (!goesOn) return false;
      at = to;
    }
    return true;
  }
}

// A mark at the beginning is a part of the key.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The key of a plain check, as a text. */
export function keyOf(bytes: Uint8Array, start: number, end: number): string {
  return utf8.decode(bytes.subarray(start, end));
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function finite(field: string, value: number): number {
  if (!Number.isFinite(value))
    throw new SluiceError('invalid-option', `${field} of a step must be a number, got ${value}`);
  return value;
}

function tooShort(needed: number, end: number): SluiceError {
  return new SluiceError('invalid-option', `steps must be at least ${needed} bytes, got ${end}`);
}
