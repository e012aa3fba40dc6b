/** An answer's head, from bytes. As strict as with requests about where it ends: what is left over would be taken for the next one's answer. */
import { carriageReturn, isValueByte, lineFeed, space } from './characters.ts';
import { connectionOptions } from './connection-options.ts';
import { bodyLength, checkTransferEncoding } from './framing.ts';
import { HeaderLines, onceInResponses } from './header-lines.ts';
import { BadMessage, type Framing, type MessageLimits, type ReadResponse } from './message.ts';

/** `end` is what `findHeadEnd` says. Throws `BadMessage`, whose status says what was wrong; the client is told 502. */
export function readResponse(
  bytes: Buffer,
  start: number,
  end: number,
  limits: MessageLimits,
  requestMethod: string,
): ReadResponse {
  if (end - start > limits.headBytes) throw new BadMessage(431, `a head must be at most ${limits.headBytes} bytes`);
  const text = bytes.toString('latin1', start, end);
  const version = text.startsWith('HTTP/1.1 ') ? '1.1' : text.startsWith('HTTP/1.0 ') ? '1.0' : undefined;
  if (version === undefined) throw new BadMessage(400, 'an answer must begin with HTTP/1.1 or HTTP/1.0');
  const status = readStatus(bytes, start + 9);
  let lineEnd = start + 12;
  // The blank behind the status belongs there, but many leave it out together with the reason.
  if (bytes[lineEnd] === space) while (isValueByte[bytes[lineEnd]!] === 1) lineEnd += 1;
  if (bytes[lineEnd] !== carriageReturn || bytes[lineEnd + 1] !== lineFeed) {
    throw new BadMessage(400, 'a status line must be a version, a status, a reason and CRLF');
  }
  const lines = new HeaderLines();
  lines.read(bytes, text, start, lineEnd + 2, end, limits, onceInResponses);
  const framing = responseFraming(lines, version, status, requestMethod);
  const options = connectionOptions(lines.connection);
  const wantsKeep = version === '1.1' ? !options.isClose : options.isKeepAlive && !options.isClose;
  return { status, headers: lines.headers, framing, isKeepAlive: wantsKeep && framing !== 'until-close' };
}

function readStatus(bytes: Buffer, at: number): number {
  const hundreds = bytes[at]! - 0x30;
  const tens = bytes[at + 1]! - 0x30;
  const ones = bytes[at + 2]! - 0x30;
  if (hundreds >= 1 && hundreds <= 5 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9) {
    return hundreds * 100 + tens * 10 + ones;
  }
  throw new BadMessage(400, 'a status must be a number from 100 to 599');
}

function responseFraming(lines: HeaderLines, version: '1.0' | '1.1', status: number, method: string): Framing {
  const length = lines.contentLength === undefined ? undefined : bodyLength(lines.contentLength);
  if (lines.transferEncoding !== undefined) {
    checkTransferEncoding(lines.transferEncoding, version, length !== undefined);
  }
  if (status < 200 || status === 204) {
    // Nothing may follow. Who announces something may send it.
    if (lines.transferEncoding !== undefined || (length !== undefined && length > 0)) {
      throw new BadMessage(400, `an answer of status ${status} must not have a body`);
    }
    return 0;
  }
  if (method === 'HEAD' || status === 304) return 0;
  if (lines.transferEncoding !== undefined) return 'chunked';
  return length ?? 'until-close';
}
