/** Headers of an answer as `node:http2` wants them. */
import type { OutgoingHttpHeaders } from 'node:http2';
import type { HeaderList } from '../../wire/message.ts';

// Node throws when it is given one of them, and the answer's framing is HTTP/2's own.
const ofHttp1 = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

export function responseHeaders(headers: HeaderList): OutgoingHttpHeaders {
  const named: OutgoingHttpHeaders = Object.create(null);
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (ofHttp1.has(name)) continue;
    const before = named[name];
    // A list may come in one line, all but the cookies (RFC 9110 5.3).
    if (before === undefined) named[name] = value;
    else if (name === 'set-cookie') named[name] = [before as string | string[], value].flat();
    else named[name] = `${before}, ${value}`;
  }
  return named;
}
