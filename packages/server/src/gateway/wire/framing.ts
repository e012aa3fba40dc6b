/** How long a body is, by what its head says. Two headers that could disagree are never both believed: they are refused. */
import { isToken, withoutBlanks } from './characters.ts';
import { BadMessage } from './message.ts';

/** The number that `Content-Length` says. */
export function bodyLength(value: string): number {
  if (value.length === 0) throw new BadMessage(400, 'Content-Length must be a number of digits, got nothing');
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x30 || code > 0x39) throw new BadMessage(400, 'Content-Length must be a number of digits alone');
  }
  const length = Number(value);
  if (length > Number.MAX_SAFE_INTEGER) throw new BadMessage(413, 'Content-Length is larger than can be counted');
  return length;
}

/** Returns if the one coding is `chunked`: there is no other that is understood. */
export function checkTransferEncoding(value: string, version: '1.0' | '1.1', hasLength: boolean): void {
  if (hasLength) throw new BadMessage(400, 'Content-Length and Transfer-Encoding must not come together');
  if (version === '1.0') throw new BadMessage(400, 'HTTP/1.0 has no Transfer-Encoding');
  if (value === 'chunked' || value.toLowerCase() === 'chunked') return;
  throw otherCoding(value);
}

// A list that is well-formed and means something else is honest: 501. What only looks like `chunked` is not.
function otherCoding(value: string): BadMessage {
  const codings = value.split(',').map((coding) => withoutBlanks(coding).toLowerCase());
  const others = codings.at(-1) === 'chunked' ? codings.slice(0, -1) : codings;
  if (others.every((coding) => isToken(coding) && !coding.includes('chunked'))) {
    return new BadMessage(501, 'Transfer-Encoding must be chunked, other codings are not understood');
  }
  return new BadMessage(400, 'Transfer-Encoding must be exactly chunked');
}
