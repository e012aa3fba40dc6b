import { describe, expect, it } from 'vitest';
import { plainHead } from './plain-head.ts';

const usual = ['Host: sluice', 'Content-Type: application/json', 'Content-Length: 7'];
const headOf = (lines: readonly string[], first = 'POST /v1/check HTTP/1.1') =>
  `${first}\r\n${lines.join('\r\n')}\r\n\r\n`;

describe('the short way takes', () => {
  it.each<[string, readonly string[]]>([
    ['a plain check', usual],
    ['headers that change nothing', [...usual, 'User-Agent: x', 'Accept: */*', 'X-Request-Id: 1', 'X-Request-Id: 2']],
    ['what a client says to stay', [...usual, 'Connection: Keep-Alive']],
    ['any case, and blanks around values', ['HOST:sluice', 'content-type:\tapplication/json ', 'CONTENT-length: 7 \t']],
    ['a charset', ['Host: sluice', 'Content-Type: application/json; charset=utf-8', 'Content-Length: 7']],
  ])('%s', (_, lines) => {
    expect(plainHead(headOf(lines))).toMatchObject({ contentLength: 7 });
  });

  it('headers of a browser, which a server has passed on', () => {
    const lines = [...usual, 'Origin: https://example.com', 'Sec-Fetch-Site: cross-site'];
    expect(plainHead(headOf(lines))).toMatchObject({ contentLength: 7 });
  });

  it('a token and a trace', () => {
    const lines = [...usual, 'Authorization: Bearer x', 'traceparent: 00-1', 'tracestate: a=b'];
    expect(plainHead(headOf(lines))).toEqual({
      contentLength: 7,
      authorization: 'Bearer x',
      traceparent: '00-1',
      tracestate: 'a=b',
    });
  });
});

describe('the short way leaves to Node', () => {
  it.each<[string, string]>([
    ['another path', headOf(usual, 'POST /v1/check?x HTTP/1.1')],
    ['another method', headOf(usual, 'PUT /v1/check HTTP/1.1')],
    ['HTTP/1.0', headOf(usual, 'POST /v1/check HTTP/1.0')],
    ['no host', headOf(usual.slice(1))],
    ['an empty host', headOf(['Host:', ...usual.slice(1)])],
    ['no length', headOf(usual.slice(0, 2))],
    ['a length of 0', headOf([...usual.slice(0, 2), 'Content-Length: 0'])],
    ['a signed length', headOf([...usual.slice(0, 2), 'Content-Length: +7'])],
    ['a length with a leading zero', headOf([...usual.slice(0, 2), 'Content-Length: 07'])],
    ['a list of lengths', headOf([...usual.slice(0, 2), 'Content-Length: 7, 7'])],
    ['two lengths', headOf([...usual, 'Content-Length: 7'])],
    ['two hosts', headOf([...usual, 'host: other'])],
    ['two tokens', headOf([...usual, 'Authorization: a', 'Authorization: b'])],
    ['a transfer encoding', headOf([...usual, 'Transfer-Encoding: chunked'])],
    ['a transfer encoding in disguise', headOf([...usual, 'Transfer-Encoding : chunked'])],
    ['a folded line', headOf([...usual, 'X-A: 1', ' Transfer-Encoding: chunked'])],
    ['a bare line feed', headOf([...usual, 'X-A: 1\nTransfer-Encoding: chunked'])],
    ['a bare carriage return', headOf([...usual, 'X-A: 1\rTransfer-Encoding: chunked'])],
    ['a NUL', headOf([...usual, 'X-A: \0'])],
    ['bytes above ASCII', headOf([...usual, 'X-A: \xff'])],
    ['a line without a colon', headOf([...usual, 'X-A'])],
    ['an expectation', headOf([...usual, 'Expect: 100-continue'])],
    ['an upgrade', headOf([...usual, 'Connection: upgrade', 'Upgrade: h2c'])],
    ['the wish to close', headOf([...usual, 'Connection: close'])],
    ['a packed body', headOf([...usual, 'Content-Encoding: gzip'])],
    ['no JSON', headOf(['Host: sluice', 'Content-Type: text/plain', 'Content-Length: 7'])],
  ])('%s', (_, text) => {
    expect(plainHead(text)).toBeUndefined();
  });
});
