/** A request's head, from bytes. Whatever is not certain to mean the same to everybody is refused: README.md has the rules. */
import { byteName, carriageReturn, lineFeed, nameByte, space } from './characters.ts';
import { type ConnectionOptions, connectionOptions } from './connection-options.ts';
import { bodyLength, checkTransferEncoding } from './framing.ts';
import { headTooLarge } from './head-end.ts';
import { HeaderLines, onceInRequests } from './header-lines.ts';
import { BadMessage, type Framing, type MessageLimits, type ReadRequest } from './message.ts';
import { checkMethod } from './method.ts';
import { absoluteForm, checkAuthority, checkTarget } from './target.ts';

type Version = '1.0' | '1.1';

/** `end` is what `findHeadEnd` says. Throws `BadMessage`. */
export function readRequest(bytes: Buffer, start: number, end: number, limits: MessageLimits): ReadRequest {
  if (end - start > limits.headBytes) throw headTooLarge(bytes, start, limits.headBytes);
  const text = bytes.toString('latin1', start, end);
  // RFC 9112 2.2: one empty line before a request is what some clients put behind their last body.
  const lineStart = bytes[start] === carriageReturn && bytes[start + 1] === lineFeed ? start + 2 : start;

  let methodEnd = lineStart;
  while (nameByte[bytes[methodEnd]!]! !== 0) methodEnd += 1;
  if (bytes[methodEnd] !== space || methodEnd === lineStart) throw badMethod(bytes[methodEnd]);
  let targetEnd = methodEnd + 1;
  while (bytes[targetEnd]! > space) targetEnd += 1;
  if (bytes[targetEnd] !== space) throw badTargetEnd(bytes[targetEnd]);
  const version = readVersion(bytes, targetEnd + 1);

  const method = text.substring(lineStart - start, methodEnd - start);
  checkMethod(method);
  const lines = new HeaderLines();
  lines.read(bytes, text, start, targetEnd + 11, end, limits, onceInRequests);
  return request(method, text.substring(methodEnd + 1 - start, targetEnd - start), version, lines);
}

function request(method: string, written: string, version: Version, lines: HeaderLines): ReadRequest {
  let target = written;
  let authority = lines.host;
  if (authority !== undefined) checkAuthority(authority);
  else if (version === '1.1') throw new BadMessage(400, 'a request of HTTP/1.1 must have a Host');
  if (written.charCodeAt(0) !== 0x2f) {
    const absolute = absoluteForm(written, method);
    if (absolute !== undefined) {
      checkAuthority(absolute.authority);
      if (authority !== undefined && authority.toLowerCase() !== absolute.authority.toLowerCase()) {
        throw new BadMessage(400, 'Host must be that of the request target');
      }
      authority = absolute.authority;
      target = absolute.target;
    }
  }
  checkTarget(target, method);
  const framing = requestFraming(lines, version, method);
  const options = connectionOptions(lines.connection);
  return {
    method,
    target,
    authority: authority ?? '',
    headers: lines.headers,
    version,
    framing,
    isKeepAlive: version === '1.1' ? !options.isClose : options.isKeepAlive && !options.isClose,
    expectsContinue: lines.expect !== undefined && expectsContinue(lines.expect, version, framing),
    upgrade: lines.upgrade === undefined ? undefined : upgradeTo(lines.upgrade, options, version, framing),
  };
}

/** Eight bytes and the end of the line. */
function readVersion(bytes: Buffer, at: number): Version {
  const isHttp =
    bytes[at] === 0x48 &&
    bytes[at + 1] === 0x54 &&
    bytes[at + 2] === 0x54 &&
    bytes[at + 3] === 0x50 &&
    bytes[at + 4] === 0x2f &&
    bytes[at + 6] === 0x2e &&
    bytes[at + 8] === carriageReturn &&
    bytes[at + 9] === lineFeed;
  const major = bytes[at + 5]! - 0x30;
  const minor = bytes[at + 7]! - 0x30;
  if (!isHttp || !(major >= 0 && major <= 9 && minor >= 0 && minor <= 9)) {
    throw new BadMessage(400, 'a request line must end in HTTP/1.1 or HTTP/1.0 and CRLF');
  }
  if (major !== 1 || minor > 1) throw new BadMessage(505, 'the version must be HTTP/1.1 or HTTP/1.0');
  return minor === 1 ? '1.1' : '1.0';
}

function requestFraming(lines: HeaderLines, version: Version, method: string): Framing {
  let framing: Framing = 0;
  if (lines.contentLength !== undefined) framing = bodyLength(lines.contentLength);
  if (lines.transferEncoding !== undefined) {
    checkTransferEncoding(lines.transferEncoding, version, lines.contentLength !== undefined);
    framing = 'chunked';
  }
  if (framing !== 0 && method === 'TRACE') throw new BadMessage(400, 'a TRACE must not have a body');
  return framing;
}

function expectsContinue(expect: string, version: Version, framing: Framing): boolean {
  if (expect.toLowerCase() !== '100-continue') throw new BadMessage(417, 'Expect must be 100-continue');
  // Who has no body does not wait, and HTTP/1.0 does not know how to.
  return version === '1.1' && framing !== 0;
}

/**
 * Wishes that are not followed are not refused: a server may ignore them. Those to another HTTP are never followed: on a connection that has
 * become HTTP/2 requests would pass that the gateway has not seen.
 */
function upgradeTo(value: string, options: ConnectionOptions, version: Version, framing: Framing): string | undefined {
  if (!options.isUpgrade || version === '1.0' || framing !== 0) return undefined;
  const protocol = value.toLowerCase();
  const isOne = /^[!#$%&'*+.^_`|~0-9a-z-]+(\/[!#$%&'*+.^_`|~0-9a-z-]+)?$/.test(protocol);
  return !isOne || /^(h2|h3|http|tls)/.test(protocol) ? undefined : protocol;
}

function badMethod(byte: number | undefined): BadMessage {
  if (byte === carriageReturn || byte === lineFeed) {
    return new BadMessage(400, 'a request line must have a method, a target and a version');
  }
  return new BadMessage(400, `a method has ${byteName(byte)}`);
}

function badTargetEnd(byte: number | undefined): BadMessage {
  if (byte === carriageReturn || byte === lineFeed) {
    return new BadMessage(400, 'a request line must have a method, a target and a version');
  }
  return new BadMessage(400, `a request target has ${byteName(byte)}`);
}
