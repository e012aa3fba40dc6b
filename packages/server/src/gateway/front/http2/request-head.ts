/**
 * The head of an HTTP/2 request as everybody behind the front knows it: as if it had come by HTTP/1.1.
 *
 *      :method :path :authority, headers ──► a head of HTTP/1.1 as text ──► readRequest ──► RequestHead
 *
 * nghttp2 refuses what RFC 9113 8 forbids (headers of a connection, capitals, unknown or misplaced pseudo headers, a body that is not
 * as long as it says). What is left is written as HTTP/1.1 and read by the parser of HTTP/1.1, so that nothing comes in here that could
 * not come in there: there is one set of rules, and no gap between two.
 */
import { BadMessage, type Framing, type HeaderList, type MessageLimits, type RequestHead } from '../../wire/message.ts';
import { readRequest } from '../../wire/read-request.ts';
import { Trailers } from '../../wire/trailers.ts';
import { headerText, requestText } from '../../wire/write-head.ts';

export interface ReadHttp2Request extends RequestHead {
  readonly framing: Framing;
  readonly expectsContinue: boolean;
  readonly takesTrailers: boolean;
}

// nghttp2 refuses them. Should it ever not, they would mean something to the parser of HTTP/1.1.
const ofHttp1 = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/** `raw`: names and values in turn, pseudo headers among them; `isEnded`: there is no body. Throws `BadMessage`. */
export function readHttp2Request(raw: HeaderList, isEnded: boolean, limits: MessageLimits): ReadHttp2Request {
  const lines = new Lines();
  for (let at = 0; at + 1 < raw.length; at += 2) lines.take(raw[at] as string, raw[at + 1] as string);
  const authority = lines.authority ?? lines.host;
  if (lines.host !== undefined && lines.host.toLowerCase() !== authority?.toLowerCase()) {
    throw new BadMessage(400, 'host must be :authority');
  }
  // HTTP/1.1 would take an address for the path of another host.
  if (!/^[/*]/.test(lines.target)) throw new BadMessage(lines.method === 'CONNECT' ? 501 : 400, ':path must be a path');
  if (lines.cookie !== '') lines.headers.push('cookie', lines.cookie);
  const host = authority === undefined ? [] : ['host', authority];
  const text = Buffer.from(requestText(lines.method, lines.target, lines.headers, host), 'latin1');
  const request = readRequest(text, 0, text.length, limits);
  // Trailers that were announced have no place behind a body of known length in HTTP/1.1.
  const isLength = lines.hasLength && !lines.hasTrailers;
  const framing = isEnded ? 0 : isLength ? request.framing : 'chunked';
  return {
    method: request.method,
    target: request.target,
    authority: request.authority,
    headers: request.headers,
    framing,
    expectsContinue: lines.hasExpectation && framing !== 0,
    takesTrailers: lines.takesTrailers,
  };
}

class Lines {
  method = '';
  target = '';
  authority: string | undefined = undefined;
  host: string | undefined = undefined;
  /** Its crumbs, joined as HTTP/1.1 has it (RFC 9113 8.2.3). */
  cookie = '';
  hasLength = false;
  hasExpectation = false;
  hasTrailers = false;
  takesTrailers = false;
  readonly headers: string[] = [];

  take(name: string, value: string): void {
    switch (name) {
      case ':method':
        this.method = value;
        break;
      case ':path':
        this.target = value;
        break;
      case ':authority':
        this.authority = value;
        break;
      case ':scheme':
        break;
      case 'host':
        if (this.host !== undefined) throw new BadMessage(400, 'host must come once');
        this.host = value;
        break;
      case 'cookie':
        this.cookie = this.cookie === '' ? value : `${this.cookie}; ${value}`;
        break;
      default:
        this.#takeHeader(name, value);
    }
  }

  #takeHeader(name: string, value: string): void {
    if (ofHttp1.has(name)) throw new BadMessage(400, `${name} has no place in HTTP/2`);
    if (name === 'content-length') this.hasLength = true;
    else if (name === 'expect') this.hasExpectation = true;
    else if (name === 'trailer') this.hasTrailers = true;
    else if (name === 'te') this.takesTrailers = value.toLowerCase() === 'trailers';
    this.headers.push(name, value);
  }
}

const lastChunk = '0\r\n';

/** Those that are passed on, by the rules for those behind a body of chunks. Throws `BadMessage`. */
export function readHttp2Trailers(raw: HeaderList, limits: MessageLimits): HeaderList {
  const text = Buffer.from(headerText(lastChunk, raw, [], 400), 'latin1');
  const trailers = new Trailers(limits);
  trailers.read(text, lastChunk.length);
  return trailers.headers;
}
