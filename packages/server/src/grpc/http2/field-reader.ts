/**
 * Reads the header blocks of one connection (RFC 7541): each may add to the table that the later ones refer to, so every block has to be read, wanted or not.
 *
 *      1 number                     a field of the table
 *      01 number, value             a new value of a known name (number 0: the name follows), which is added to the table
 *      0000 or 0001 number, value   the same, not added
 *      001 size                     how large the table may be from now on
 */

import { bytesOf, type Field, FieldTable, tableBytesMax } from './field-table.ts';
import { BrokenProtocol, endCodes } from './frame.ts';
import { decodeHuffman } from './huffman.ts';

/** What a request may have in all, each field counted as the table counts it. A connection may be told so. */
export const fieldListBytesMax = 65_536;

export interface FieldList {
  readonly fields: readonly Field[];
  /** There was more than there may be; the fields end before it. */
  readonly isTooLong: boolean;
}

export class FieldReader {
  readonly #table = new FieldTable();
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  read(bytes: Buffer, start: number, end: number): FieldList {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const fields: Field[] = [];
    let listBytes = 0;
    while (this.#at < end) {
      const first = bytes[this.#at]!;
      if ((first & 0xe0) === 0x20) {
        this.#resize(fields.length > 0);
        continue;
      }
      const field = first >= 0x80 ? this.#known(this.#number(7)) : this.#literal(first);
      listBytes += bytesOf(field);
      if (listBytes <= fieldListBytesMax) fields.push(field);
    }
    return { fields, isTooLong: listBytes > fieldListBytesMax };
  }

  #resize(isLate: boolean): void {
    const bytesMax = this.#number(5);
    if (isLate) throw bad('the size of the table is not told before the fields');
    if (bytesMax > tableBytesMax) throw bad(`the table must be at most ${tableBytesMax} bytes, got ${bytesMax}`);
    this.#table.resize(bytesMax);
  }

  #literal(first: number): Field {
    const isAdded = first >= 0x40;
    const number = this.#number(isAdded ? 6 : 4);
    const name = number === 0 ? this.#text() : this.#known(number).name;
    const value = this.#text();
    const field: Field = { name, value, isAllowed: isAllowed(name, value) };
    if (isAdded) this.#table.add(field);
    return field;
  }

  #known(number: number): Field {
    const field = this.#table.find(number);
    if (field === undefined) throw bad(`there is no field ${number} in the table`);
    return field;
  }

  /** In the last bits of a byte, and if those are all ones in the bytes that follow, seven bits in each, the lowest first. */
  #number(bits: number): number {
    const most = (1 << bits) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    // Four bytes more are far beyond every number that means something here.
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw bad('a number is too large');
  }

  #text(): string {
    const isHuffman = this.#at < this.#end && this.#bytes[this.#at]! >= 0x80;
    const length = this.#number(7);
    const start = this.#at;
    if (length > this.#end - start) throw endsEarly();
    this.#at += length;
    return isHuffman ? decodeHuffman(this.#bytes, start, this.#at) : this.#bytes.toString('latin1', start, this.#at);
  }

  #byte(): number {
    if (this.#at >= this.#end) throw endsEarly();
    return this.#bytes[this.#at++]!;
  }
}

// RFC 9113, 8.2: names in lower case, values in one line, and nothing that speaks of one connection of HTTP/1. Blanks around a value are let
// pass, as Node's own HTTP/2 does: grpc-js sends what it was given, and a token with one is better told what is wrong with it.
const allowedName = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const forbiddenInValue = /[\0\r\n]/;
const ofConnections = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

function isAllowed(name: string, value: string): boolean {
  if (!allowedName.test(name) || forbiddenInValue.test(value) || ofConnections.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

const bad = (why: string) => new BrokenProtocol(endCodes.compressionError, `a header block is invalid: ${why}`);
const endsEarly = () => bad('it ends in the middle of a field');
