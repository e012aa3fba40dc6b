import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkHead, lastChunk } from './chunk.ts';
import { BadMessage, type HeaderList } from './message.ts';
import { readRequest } from './read-request.ts';
import { readResponse } from './read-response.ts';
import { requestText, responseText } from './write-head.ts';

const limits = { headBytes: 100_000, headers: 100 };

it('a request is one form: the connection first, then what is passed on', () => {
  expect(requestText('GET', '/a', ['accept', '*/*', 'x-a', ''], ['host', 'a.example'])).toBe(
    'GET /a HTTP/1.1\r\nhost: a.example\r\naccept: */*\r\nx-a: \r\n\r\n',
  );
});

it('an answer has the usual reason of its status, or none', () => {
  expect(responseText(200, ['x-a', '1'], ['content-length', '0'])).toBe(
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-a: 1\r\n\r\n',
  );
  expect(responseText(299, [], [])).toBe('HTTP/1.1 299 \r\n\r\n');
});

it('chunks are framed in the plainest way', () => {
  expect(chunkHead(1)).toBe('1\r\n');
  expect(chunkHead(65_536)).toBe('10000\r\n');
  expect(lastChunk([])).toBe('0\r\n\r\n');
  expect(lastChunk(['x-a', '1', 'x-b', '2'])).toBe('0\r\nx-a: 1\r\nx-b: 2\r\n\r\n');
  expect(() => chunkHead(0)).toThrow(BadMessage);
});

describe('refuses to write', () => {
  // U+010D and U+010A lose their upper byte in latin1, and become a line end.
  const endings = [
    'a\r\nb: c',
    'a\nb',
    'a\rb',
    'a\r\n',
    '\r\n',
    'a\0b',
    'a\x7fb',
    'a\x1bb',
    'a\u010d\u010ab',
    'a\u20ac',
    '\ud83d\ude80',
  ];
  it.each(endings)('%j', (text) => {
    const attempts: (() => string)[] = [
      () => requestText('GET', '/', ['x-a', text], []),
      () => requestText('GET', '/', [], ['x-a', text]),
      () => requestText('GET', '/', [text, 'a'], []),
      () => requestText('GET', `/${text}`, [], []),
      () => requestText(`GET${text}`, '/', [], []),
      () => responseText(200, ['x-a', text], []),
      () => responseText(200, [text, 'a'], ['x-b', 'b']),
      () => lastChunk(['x-a', text]),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(BadMessage);
  });

  it('a request line with a blank too many', () => {
    expect(() => requestText('GET', '/a HTTP/1.1', [], [])).toThrow(BadMessage);
    expect(() => requestText('GET /b', '/a', [], [])).toThrow(BadMessage);
  });

  it('two headers that frame', () => {
    const both = ['content-length', '5', 'transfer-encoding', 'chunked'];
    expect(() => requestText('GET', '/', both, [])).toThrow(BadMessage);
    expect(() => requestText('GET', '/', both.slice(0, 2), both.slice(2))).toThrow(BadMessage);
    expect(() => responseText(200, both.slice(0, 2), both.slice(0, 2))).toThrow(BadMessage);
  });

  it.each([0, 99, 600, 200.5, Number.NaN])('status %s', (status) => {
    expect(() => responseText(status, [], [])).toThrow(BadMessage);
  });
});

describe('what was written is read as it was', () => {
  const name = fc.oneof(
    fc.constantFrom('accept', 'cookie', 'user-agent', 'x-a', 'cache-control', 'set-cookie', 'etag'),
    fc.stringMatching(/^x[!#$%&'*+.^_`|~0-9a-z-]{0,20}$/),
  );
  const value = fc.stringMatching(/^([!-~\x80-\xff]([\t -~\x80-\xff]{0,30}[!-~\x80-\xff])?)?$/);
  const headers: fc.Arbitrary<HeaderList> = fc
    .array(fc.tuple(name, value), { maxLength: 20 })
    .map((pairs) => pairs.flat());
  const target = fc.stringMatching(/^\/[!$-;=?-[\]-z|}~]{0,30}$/);

  it('requests', () => {
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'M-SEARCH', 'OPTIONS', 'PURGE');
    fc.assert(
      fc.property(method, target, headers, (method, target, headers) => {
        const bytes = Buffer.from(requestText(method, target, headers, ['host', 'a.example']), 'latin1');
        const read = readRequest(bytes, 0, bytes.length, limits);
        expect(read).toMatchObject({ method, target, authority: 'a.example', headers, framing: 0 });
      }),
    );
  });

  it('answers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), headers, (status, headers) => {
        const bytes = Buffer.from(responseText(status, headers, ['content-length', '0']), 'latin1');
        const read = readResponse(bytes, 0, bytes.length, limits, 'GET');
        expect(read).toEqual({ status, headers: ['content-length', '0', ...headers], framing: 0, isKeepAlive: true });
      }),
    );
  });
});
