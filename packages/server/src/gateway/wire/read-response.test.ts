import { describe, expect, it } from 'vitest';
import { findHeadEnd } from './head-end.ts';
import { BadMessage, type Framing } from './message.ts';
import { readResponse } from './read-response.ts';

const limits = { headBytes: 1000, headers: 20 };
const read = (text: string, method = 'GET') => {
  const bytes = Buffer.from(text, 'latin1');
  return readResponse(bytes, 0, findHeadEnd(bytes, 0, 0), limits, method);
};

it('an answer is read whole, its reason left out', () => {
  expect(
    read(
      'HTTP/1.1 404 Nicht gefunden \xe4\r\nContent-Type: a/b\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 3\r\n\r\n',
    ),
  ).toEqual({
    status: 404,
    headers: ['content-type', 'a/b', 'set-cookie', 'a', 'set-cookie', 'b', 'content-length', '3'],
    framing: 3,
    isKeepAlive: true,
  });
});

describe('where its body ends', () => {
  const rows: readonly [method: string, text: string, framing: Framing, isKeepAlive: boolean][] = [
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 5, true],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'chunked', true],
    ['GET', 'HTTP/1.1 200 OK\r\n\r\n', 'until-close', false],
    ['GET', 'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n', 'until-close', false],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n', 5, false],
    ['GET', 'HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n', 5, true],
    ['GET', 'HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n', 5, true],
    ['GET', 'HTTP/1.0 200 OK\r\n\r\n', 'until-close', false],
    ['GET', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n', 5, false],
    ['GET', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n', 5, true],
    ['GET', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n', 'until-close', false],
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 0, true],
    ['HEAD', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 0, true],
    ['HEAD', 'HTTP/1.1 200 OK\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', 0, true],
    ['POST', 'HTTP/1.1 100 Continue\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 0, true],
    ['GET', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', 0, true],
  ];
  it.each(rows)('%s %j: %s', (method, text, framing, isKeepAlive) => {
    expect(read(text, method)).toMatchObject({ framing, isKeepAlive });
  });
});

describe('refuses', () => {
  const withLines = (lines: string, status = '200 OK') => `HTTP/1.1 ${status}\r\n${lines}\r\n`;
  const rows: readonly [what: string, text: string][] = [
    ['a length and chunks', withLines('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')],
    [
      'a length and chunks of no body',
      withLines('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '304 Not Modified'),
    ],
    ['two lengths', withLines('Content-Length: 5\r\nContent-Length: 6\r\n')],
    ['two lengths that agree', withLines('Content-Length: 5\r\nContent-Length: 5\r\n')],
    ['a list of lengths', withLines('Content-Length: 5, 5\r\n')],
    ['a signed length', withLines('Content-Length: +5\r\n')],
    ['a length that is none', withLines('Content-Length: x\r\n', '304 Not Modified')],
    ['two codings', withLines('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n')],
    ['another coding', withLines('Transfer-Encoding: gzip, chunked\r\n')],
    ['identity', withLines('Transfer-Encoding: identity\r\n')],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a body of 204', withLines('Content-Length: 5\r\n', '204 No Content')],
    ['chunks of 204', withLines('Transfer-Encoding: chunked\r\n', '204 No Content')],
    ['a body of 100', withLines('Content-Length: 5\r\n', '100 Continue')],
    ['chunks of 101', withLines('Transfer-Encoding: chunked\r\n', '101 Switching Protocols')],
    ['a folded line', withLines('X-A: 1\r\n 2\r\n')],
    ['a blank before the colon', withLines('Content-Length : 5\r\n')],
    ['a bare line feed', withLines('X-A: 1\nContent-Length: 5\r\n')],
    ['a bare line feed behind the status', 'HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n'],
    ['a bare carriage return in the reason', 'HTTP/1.1 200 O\rK\r\n\r\n'],
    ['a NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n'],
    ['an empty line before it', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['nothing', '\r\n\r\n'],
    ['a length in disguise', withLines('Content_Length: 5\r\n')],
    ['too many headers', withLines('X-A: 1\r\n'.repeat(21))],
    ['too large a head', withLines(`X-A: ${'1'.repeat(1000)}\r\n`)],
    ['lower case', 'http/1.1 200 OK\r\n\r\n'],
    ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['HTTP/1.10', 'HTTP/1.10 200 OK\r\n\r\n'],
    ['two digits of a status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['four digits of a status', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['a status above 599', 'HTTP/1.1 600 OK\r\n\r\n'],
    ['a status with a sign', 'HTTP/1.1 +20 OK\r\n\r\n'],
    ['a status of letters', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['two blanks before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['a tab before the status', 'HTTP/1.1\t200 OK\r\n\r\n'],
    ['a request', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ];
  it.each(rows)('%s', (_, text) => {
    expect(() => read(text)).toThrow(BadMessage);
  });
});
