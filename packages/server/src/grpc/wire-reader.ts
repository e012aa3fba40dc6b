/**
 * Reads protobuf's wire format where it lies: a message is a row of fields, each a tag (number and wire type) and a value.
 *
 *      tag          value
 *      0a           02 72 6c            field 1, length-delimited, 2 bytes: "rl"
 *      18           05                  field 3, varint: 5
 *
 * A nested message narrows the reader to its bytes (`enter`) and widens it again (`leave`), so that no length can point outside of
 * what surrounds it. Everything that is not protobuf is a `GrpcError` of status INVALID_ARGUMENT.
 */
import { isUtf8 } from 'node:buffer';
import { malformed } from './status.ts';

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const groupStart = 3;
const groupEnd = 4;
const fixed32 = 5;

export const varintTag = (field: number) => (field << 3) | varint;
export const lengthDelimitedTag = (field: number) => (field << 3) | lengthDelimited;

// Groups in unknown fields may nest; protobuf's own parsers stop at this depth too.
const groupDepthMax = 100;

export class WireReader {
  /** Of the field that `next` came to. */
  tag = 0;
  readonly #bytes: Buffer;
  #offset = 0;
  #end: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** Goes to the next field; false at the end of the message. Its value must then be read or skipped. */
  next(): boolean {
    if (this.#offset === this.#end) return false;
    this.tag = this.uint32();
    if (this.tag >>> 3 === 0) throw malformed('a protobuf field has the number 0');
    return true;
  }

  /** Narrows to a nested message; what it returns is for `leave`. */
  enter(): number {
    const end = this.#lengthDelimitedEnd();
    const outerEnd = this.#end;
    this.#end = end;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  string(): string {
    const end = this.#lengthDelimitedEnd();
    const start = this.#offset;
    this.#offset = end;
    const bytes = this.#bytes;
    for (let i = start; i < end; i++) {
      if (bytes[i]! >= 0x80) return this.#unicode(start, end);
    }
    return bytes.toString('latin1', start, end);
  }

  bool(): boolean {
    return this.uint64() !== 0;
  }

  /** Also of enums. Bits beyond the 32nd are dropped, as protobuf says. */
  uint32(): number {
    const bytes = this.#bytes;
    if (this.#offset < this.#end && bytes[this.#offset]! < 0x80) return bytes[this.#offset++]!;
    this.#varint();
    return this.#low;
  }

  /** The nearest number: a double holds 53 bits. */
  uint64(): number {
    const bytes = this.#bytes;
    if (this.#offset < this.#end && bytes[this.#offset]! < 0x80) return bytes[this.#offset++]!;
    this.#varint();
    return this.#high * 2 ** 32 + this.#low;
  }

  /** Passes over the value of the field that `next` came to. */
  skip(): void {
    this.#skip(this.tag, 0);
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case varint:
        this.#varint();
        return;
      case fixed64:
        this.#advance(8);
        return;
      case fixed32:
        this.#advance(4);
        return;
      case lengthDelimited:
        this.#offset = this.#lengthDelimitedEnd();
        return;
      case groupStart:
        this.#skipGroup(tag, depth + 1);
        return;
      default:
        throw malformed(`protobuf field ${tag >>> 3} has wire type ${tag & 7}, which cannot begin a value`);
    }
  }

  #skipGroup(startTag: number, depth: number): void {
    if (depth > groupDepthMax) throw malformed(`protobuf groups are nested more than ${groupDepthMax} deep`);
    const endTag = startTag - groupStart + groupEnd;
    while (this.next()) {
      if (this.tag === endTag) return;
      this.#skip(this.tag, depth);
    }
    throw truncated();
  }

  #unicode(start: number, end: number): string {
    if (!isUtf8(this.#bytes.subarray(start, end))) throw malformed('a protobuf string is not valid UTF-8');
    return this.#bytes.toString('utf8', start, end);
  }

  #lengthDelimitedEnd(): number {
    const length = this.uint64();
    // Compared before it is added: a length near 2^64 must not become a small end by rounding.
    if (length > this.#end - this.#offset) throw truncated();
    return this.#offset + length;
  }

  #advance(count: number): void {
    if (count > this.#end - this.#offset) throw truncated();
    this.#offset += count;
  }

  // The two halves of the last varint.
  #low = 0;
  #high = 0;

  /** Seven bits a byte, the lowest first; at most ten bytes, of which the tenth holds one bit. */
  #varint(): void {
    const bytes = this.#bytes;
    let low = 0;
    let high = 0;
    for (let bits = 0; bits < 70; bits += 7) {
      if (this.#offset === this.#end) throw truncated();
      const byte = bytes[this.#offset++]!;
      const seven = byte & 0x7f;
      if (bits < 28) low |= seven << bits;
      else if (bits > 28) high |= seven << (bits - 32);
      else {
        // The fifth byte lies across the two halves.
        low |= seven << 28;
        high = seven >>> 4;
      }
      if (byte < 0x80) {
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        return;
      }
    }
    throw malformed('a protobuf varint is longer than 10 bytes');
  }
}

const truncated = () => malformed('the protobuf message ends in the middle of a field');
