/**
 * The lines of a head behind its first, or of trailers: `name: value CRLF`, as often as there are, and an empty line.
 *
 *      Host: shop.example CRLF        name, colon, blanks, value, blanks
 *      X-A : 1 CRLF                   refused: a blank before the colon
 *       folded CRLF                   refused: a name begins every line
 *      X-B: 1 LF                      refused: lines end in CRLF
 *
 * Whatever two readers could understand differently is refused. What the lines say about the message itself is gathered on the way.
 */
import { byteName, carriageReturn, colon, isValueByte, lineFeed, nameByte, space, tab } from './characters.ts';
import { knownName, meaningAt, meanings, nameAt, nextHash } from './header-names.ts';
import { BadMessage, type MessageLimits } from './message.ts';
import { plainName } from './plain-name.ts';

/** Names whose second line two readers would understand differently: one takes the first, another the last. */
export const onceInRequests =
  meanings.host |
  meanings.contentLength |
  meanings.transferEncoding |
  meanings.expect |
  meanings.upgrade |
  meanings.authorization |
  meanings.proxyAuthorization |
  meanings.contentType |
  meanings.origin;
export const onceInResponses = meanings.contentLength | meanings.transferEncoding | meanings.upgrade;

export class HeaderLines {
  /** Names and values in turn, without `host`. */
  readonly headers: string[] = [];
  host: string | undefined = undefined;
  contentLength: string | undefined = undefined;
  transferEncoding: string | undefined = undefined;
  expect: string | undefined = undefined;
  upgrade: string | undefined = undefined;
  /** Of all lines, as one list. */
  connection: string | undefined = undefined;
  #seen = 0;
  #count = 0;

  /** Takes the lines from `from` to `end`, which is after the empty line. `text` is `bytes` from `start` on. */
  read(
    bytes: Buffer,
    text: string,
    start: number,
    from: number,
    end: number,
    limits: MessageLimits,
    once: number,
  ): void {
    let at = from;
    while (bytes[at] !== carriageReturn) at = this.#readLine(bytes, text, start, at, limits, once);
    if (bytes[at + 1] !== lineFeed) throw bare('a carriage return');
    if (at + 2 !== end) throw new BadMessage(400, 'a head ends with its first empty line');
  }

  #readLine(bytes: Buffer, text: string, start: number, from: number, limits: MessageLimits, once: number): number {
    this.#count += 1;
    if (this.#count > limits.headers)
      throw new BadMessage(431, `a message must have at most ${limits.headers} headers`);
    let hash = 0;
    let nameEnd = from;
    for (let byte = nameByte[bytes[nameEnd]!]!; byte !== 0; byte = nameByte[bytes[nameEnd]!]!) {
      hash = nextHash(hash, byte);
      nameEnd += 1;
    }
    if (bytes[nameEnd] !== colon || nameEnd === from) throw badName(bytes, from, nameEnd);

    let valueStart = nameEnd + 1;
    while (bytes[valueStart] === space || bytes[valueStart] === tab) valueStart += 1;
    let lineEnd = valueStart;
    while (isValueByte[bytes[lineEnd]!] === 1) lineEnd += 1;
    if (bytes[lineEnd] !== carriageReturn || bytes[lineEnd + 1] !== lineFeed) throw badValue(bytes, lineEnd);
    let valueEnd = lineEnd;
    while (valueEnd > valueStart && (bytes[valueEnd - 1] === space || bytes[valueEnd - 1] === tab)) valueEnd -= 1;

    const value = text.substring(valueStart - start, valueEnd - start);
    const slot = knownName(bytes, from, nameEnd - from, hash);
    if (slot === -1) this.#addUnknown(text.substring(from - start, nameEnd - start).toLowerCase(), value);
    else this.#addKnown(nameAt(slot), value, meaningAt(slot), once);
    return lineEnd + 2;
  }

  #addUnknown(name: string, value: string): void {
    // 14 and 17 are the lengths of the two names that frame a message.
    if ((name.length === 14 || name.length === 17) && isFramingInDisguise(name)) {
      throw new BadMessage(400, 'a name that some take for Content-Length or Transfer-Encoding is refused');
    }
    this.headers.push(name, value);
  }

  #addKnown(name: string, value: string, meaning: number, once: number): void {
    if (meaning !== meanings.none) {
      if ((this.#seen & meaning & once) !== 0) throw new BadMessage(400, `${name} must come once`);
      this.#seen |= meaning;
      if (meaning === meanings.host) {
        this.host = value;
        return;
      }
      this.#keep(meaning, value);
    }
    this.headers.push(name, value);
  }

  #keep(meaning: number, value: string): void {
    switch (meaning) {
      case meanings.contentLength:
        this.contentLength = value;
        break;
      case meanings.transferEncoding:
        this.transferEncoding = value;
        break;
      case meanings.connection:
        this.connection = this.connection === undefined ? value : `${this.connection},${value}`;
        break;
      case meanings.expect:
        this.expect = value;
        break;
      case meanings.upgrade:
        this.upgrade = value;
        break;
    }
  }
}

/** CGI and its heirs turn `content_length` and `content.length` into the same variable as `content-length`. */
function isFramingInDisguise(name: string): boolean {
  const read = plainName(name);
  return read === 'content-length' || read === 'transfer-encoding';
}

function bare(what: string): BadMessage {
  return new BadMessage(400, `${what} must be part of a line end (CRLF)`);
}

function badName(bytes: Buffer, from: number, at: number): BadMessage {
  const byte = bytes[at];
  if (byte === lineFeed) return bare('a line feed');
  if (byte === carriageReturn) return new BadMessage(400, 'a header line must have a colon');
  if (at > from) {
    const what = byte === space || byte === tab ? 'a blank before its colon' : byteName(byte);
    return new BadMessage(400, `a header name has ${what}`);
  }
  if (byte === colon) return new BadMessage(400, 'a header name is empty');
  if (byte === space || byte === tab) return new BadMessage(400, 'a header line begins with a blank: it is folded');
  return new BadMessage(400, `a header name begins with ${byteName(byte)}`);
}

function badValue(bytes: Buffer, at: number): BadMessage {
  if (bytes[at] === carriageReturn) return bare('a carriage return');
  if (bytes[at] === lineFeed) return bare('a line feed');
  return new BadMessage(400, `a header value has ${byteName(bytes[at])}`);
}
