import { describe, expect, it } from 'vitest';
import { findHeadEnd, headTooLarge } from './head-end.ts';
import { BadMessage, type ReadRequest } from './message.ts';
import { readRequest } from './read-request.ts';

const limits = { headBytes: 1000, headers: 20 };
const read = (text: string): ReadRequest => {
  const bytes = Buffer.from(text, 'latin1');
  return readRequest(bytes, 0, findHeadEnd(bytes, 0, 0), limits);
};
const withLines = (lines: string, first = 'GET /a HTTP/1.1') => read(`${first}\r\nHost: a.example\r\n${lines}\r\n`);
const posted = (lines: string, version = '1.1') => withLines(lines, `POST /a HTTP/${version}`);

describe('a head', () => {
  it('is read whole, names in lower case, host as authority', () => {
    expect(withLines('Accept: */*\r\nX-Tenant:\tacme \r\nCONTENT-LENGTH: 12\r\n', 'PUT /a?b=c HTTP/1.1')).toEqual({
      method: 'PUT',
      target: '/a?b=c',
      authority: 'a.example',
      headers: ['accept', '*/*', 'x-tenant', 'acme', 'content-length', '12'],
      version: '1.1',
      framing: 12,
      isKeepAlive: true,
      expectsContinue: false,
      upgrade: undefined,
    });
  });

  it('is read from the middle of what has come', () => {
    const bytes = Buffer.from(
      '...GET / HTTP/1.1\r\nHost: a\r\nX-Long-Name-Of-Mine: b\r\n\r\nGET /next HTTP/1.1\r\n\r\n',
    );
    const end = findHeadEnd(bytes, 3, 3);
    expect(bytes.toString('latin1', end, end + 9)).toBe('GET /next');
    const { method, target, authority, headers } = readRequest(bytes, 3, end, limits);
    expect([method, target, authority, ...headers]).toEqual(['GET', '/', 'a', 'x-long-name-of-mine', 'b']);
  });

  it('is refused when it is not what it was said to be', () => {
    const bytes = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n');
    expect(() => readRequest(bytes, 0, bytes.length, limits)).toThrow(BadMessage);
    expect(() => readRequest(bytes, 0, 20, limits)).toThrow(BadMessage);
  });

  it('keeps every line of one name, in order, and bytes above ASCII', () => {
    const { headers } = withLines('X-A: 1\r\nx-b: \xe4\r\nX-a: 2\r\n');
    expect(headers).toEqual(['x-a', '1', 'x-b', '\xe4', 'x-a', '2']);
  });

  it('is refused when it is larger than the limit, even if it is whole', () => {
    const large =
      (lines: string, target = '/') =>
      () =>
        read(`GET ${target} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
    expect(large(`X-A: ${'a'.repeat(1000)}\r\n`)).toThrow(expect.objectContaining({ status: 431 }));
    expect(large('', `/${'a'.repeat(1000)}`)).toThrow(expect.objectContaining({ status: 414 }));
  });
});

describe('where a head ends', () => {
  const rows: readonly [text: string, end: number][] = [
    ['GET / HTTP/1.1\r\nHost: a\r\n\r\nGET', 27],
    ['GET / HTTP/1.1\r\nHost: a\r\n\r', -1],
    ['GET / HTTP/1.1\r\nHost: a\r\n', -1],
    ['', -1],
    ['\r\nGET / HTTP/1.1\r\n', -1], // an empty line before a head is not its end
    ['a\n\nb', 3], //                  so that it is refused at once
    ['a\n\r\nb', 4],
    ['a\r\n\nb', 4],
    ['a\n\rb', -1],
  ];
  it.each(rows)('%j: %i', (text, end) => {
    expect(findHeadEnd(Buffer.from(text), 0, 0)).toBe(end);
  });

  it('is found wherever the looking had stopped', () => {
    const bytes = Buffer.from('xxGET / HTTP/1.1\r\n\r\n');
    for (let from = 2; from < bytes.length; from++) expect(findHeadEnd(bytes, 2, from)).toBe(bytes.length);
  });

  it('a head without end is too large by its target or as a whole', () => {
    expect(headTooLarge(Buffer.from('GET /aaaaaaaaaaaaaaa'), 0, 20).status).toBe(414);
    expect(headTooLarge(Buffer.from('\r\nGET /aaaaaaaaaaaaa'), 0, 20).status).toBe(414);
    expect(headTooLarge(Buffer.from('GET / HTTP/1.1\r\nX-A: aaaaaa'), 0, 20).status).toBe(431);
  });
});

describe('framing', () => {
  it('is none, a length or chunks', () => {
    expect(withLines('').framing).toBe(0);
    expect(posted('').framing).toBe(0);
    expect(posted('Content-Length: 0\r\n').framing).toBe(0);
    expect(posted('Content-Length: 9007199254740991\r\n').framing).toBe(Number.MAX_SAFE_INTEGER);
    expect(posted('Transfer-Encoding: Chunked\r\n').framing).toBe('chunked');
  });
});

describe('the connection is kept', () => {
  const rows: readonly [version: string, lines: string, isKeepAlive: boolean][] = [
    ['1.1', '', true],
    ['1.1', 'Connection: keep-alive\r\n', true],
    ['1.1', 'Connection: close\r\n', false],
    ['1.1', 'Connection: Close\r\n', false],
    ['1.1', 'Connection: keep-alive, close\r\n', false],
    ['1.1', 'Connection: x-a\r\nConnection: close\r\n', false],
    ['1.1', 'Connection: closed\r\n', true],
    ['1.1', 'Connection:\r\n', true],
    ['1.0', '', false],
    ['1.0', 'Connection: Keep-Alive\r\n', true],
    ['1.0', 'Connection: x-a ,keep-alive\r\n', true],
    ['1.0', 'Connection: keep-alive, close\r\n', false],
  ];
  it.each(rows)('HTTP/%s %j: %s', (version, lines, isKeepAlive) => {
    expect(posted(lines, version).isKeepAlive).toBe(isKeepAlive);
  });
});

describe('100-continue is waited for', () => {
  const rows: readonly [version: string, lines: string, expectsContinue: boolean][] = [
    ['1.1', 'Expect: 100-continue\r\nContent-Length: 5\r\n', true],
    ['1.1', 'Expect: 100-CONTINUE\r\nTransfer-Encoding: chunked\r\n', true],
    ['1.1', 'Expect: 100-continue\r\nContent-Length: 0\r\n', false],
    ['1.1', 'Expect: 100-continue\r\n', false],
    ['1.0', 'Expect: 100-continue\r\nContent-Length: 5\r\n', false],
    ['1.1', 'Content-Length: 5\r\n', false],
  ];
  it.each(rows)('HTTP/%s %j: %s', (version, lines, expectsContinue) => {
    expect(posted(lines, version).expectsContinue).toBe(expectsContinue);
  });
});

describe('a wish to switch protocols', () => {
  const rows: readonly [version: string, lines: string, upgrade: string | undefined][] = [
    ['1.1', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', 'websocket'],
    ['1.1', 'Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n', 'websocket'],
    ['1.1', 'Connection: upgrade\r\nUpgrade: foo/2\r\n', 'foo/2'],
    ['1.1', 'Upgrade: websocket\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\n', undefined],
    ['1.0', 'Connection: upgrade\r\nUpgrade: websocket\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: websocket, h2c\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: h2c\r\n', undefined], // requests in it would not be seen
    ['1.1', 'Connection: upgrade\r\nUpgrade: H2C\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: HTTP/2.0\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: TLS/1.0\r\n', undefined],
    ['1.1', 'Connection: upgrade\r\nUpgrade: web socket\r\n', undefined],
  ];
  it.each(rows)('HTTP/%s %j: %s', (version, lines, upgrade) => {
    expect(posted(lines, version).upgrade).toBe(upgrade);
  });
});

it('every byte that is no part of a token is refused in a name, and every control character in a value', () => {
  const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]/;
  for (let byte = 0; byte < 256; byte++) {
    const character = String.fromCharCode(byte);
    const isRefused = (lines: string) => {
      try {
        withLines(lines);
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(BadMessage);
        return true;
      }
    };
    // A colon ends the name, and what follows is a value.
    if (character !== ':') expect([byte, isRefused(`X${character}A: 1\r\n`)]).toEqual([byte, !token.test(character)]);
    const isControl = (byte < 0x20 && byte !== 9) || byte === 0x7f;
    expect([byte, isRefused(`X-A: 1${character}2\r\n`)]).toEqual([byte, isControl]);
  }
});

it('names are found whatever their case, and nothing else is taken for them', () => {
  const names =
    'accept cookie user-agent x-forwarded-for connection te trailer etag x-request-id sec-websocket-key via'.split(' ');
  for (const name of names) {
    const { headers } = withLines(
      `${name.toUpperCase()}: a\r\n${name}x: b\r\nx${name}: c\r\n${name.slice(0, -1)}: d\r\n`,
    );
    expect(headers).toEqual([name, 'a', `${name}x`, 'b', `x${name}`, 'c', name.slice(0, -1), 'd']);
  }
});
