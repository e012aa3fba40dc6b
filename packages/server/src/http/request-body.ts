/**
 * A request's body, up to a bound. Most come whole in one piece, which is handed on as it is, without waiting for the stream to say
 * that it has ended.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

// What is read past the bound only to be thrown away. Who sends little too much then reads the answer; closing at once would
// reset the connection under it.
const patienceBytes = 256 * 1024;

const nothing = Buffer.alloc(0);

/** Calls back once, with the bytes or with what is wrong; never when the connection ends before. */
export function collectBody(
  request: IncomingMessage,
  mostBytes: number,
  done: (body: Buffer, problem: Problem | undefined) => void,
): void {
  const given = request.headers['content-length'];
  const length = given === undefined ? -1 : Number(given);
  if (length === 0 || length > mostBytes + patienceBytes) {
    done(nothing, length === 0 ? undefined : tooLong(mostBytes, length, true));
    return;
  }
  let isDone = false;
  let bytes = 0;
  let pieces: Buffer[] | undefined;
  request.on('data', (piece: Buffer) => {
    if (isDone) return;
    bytes += piece.length;
    if (bytes === length && pieces === undefined && length <= mostBytes) {
      isDone = true;
      done(piece, undefined);
      return;
    }
    pieces ??= [];
    if (bytes <= mostBytes) pieces.push(piece);
    else if (bytes <= mostBytes + patienceBytes) pieces.length = 0;
    else {
      isDone = true;
      done(nothing, tooLong(mostBytes, bytes, true));
    }
  });
  request.on('end', () => {
    if (isDone) return;
    isDone = true;
    if (bytes > mostBytes) done(nothing, tooLong(mostBytes, bytes, false));
    else done(pieces === undefined ? nothing : Buffer.concat(pieces, bytes), undefined);
  });
}

function tooLong(mostBytes: number, bytes: number, isUnfinished: boolean): Problem {
  const headers = isUnfinished ? ['Connection', 'close'] : [];
  const detail = `The body must be at most ${mostBytes} bytes long, got ${isUnfinished ? 'at least ' : ''}${bytes}. Send less, or several requests.`;
  return new Problem(413, detail, { headers });
}

const jsonContent = /^application\/(?:[\w.-]+\+)?json *(?:; *charset="?utf-8"? *)?$/i;

export function isJsonContent(type: string): boolean {
  return type === 'application/json' || jsonContent.test(type);
}

// What curl and fetch say of a body when they are not told.
const unsaid = /^(?:application\/x-www-form-urlencoded|text\/plain)\s*(?:;|$)/i;

/**
 * Refuses a body that does not say it is JSON, unless the client only did not say. A page of another site could send these types, or none,
 * unasked with its visitor's browser, which then names itself. JSON it could not: `foreign-page.ts` counts on that.
 */
export function mustBeJson(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  const isUnsaid = (type === undefined || unsaid.test(type)) && !isBrowser(headers);
  if (!isUnsaid && !isJsonContent(type ?? '')) {
    throw new Problem(
      415,
      `Content-Type must be application/json, got ${type === undefined ? 'none' : JSON.stringify(type)}. With curl: -H 'Content-Type: application/json'.`,
    );
  }
  mustBePlain(headers);
}

function isBrowser(headers: IncomingHttpHeaders): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

/** Refuses what would have to be unpacked first: a small body can unpack to a large one. */
export function mustBePlain(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new Problem(
      415,
      `Content-Encoding must be left out, got ${JSON.stringify(encoding)}. Send the body as it is.`,
    );
}
