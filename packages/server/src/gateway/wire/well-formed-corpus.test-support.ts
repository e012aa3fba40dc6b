/** Requests that are odd and right: they must pass, and mean exactly this. */
import type { HeaderList } from './message.ts';

export interface ExpectedRequest {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly body: string;
  readonly trailers: HeaderList;
}

export interface WellFormedRequests {
  readonly name: string;
  /** All that the client sends on the connection. */
  readonly bytes: Buffer;
  readonly requests: readonly ExpectedRequest[];
}

type Row = readonly [name: string, text: string, ...requests: Partial<ExpectedRequest>[]];

const usual: ExpectedRequest = { method: 'GET', target: '/a', authority: 'shop.example', body: '', trailers: [] };
const host = 'Host: shop.example\r\n';
const get = (lines: string) => `GET /a HTTP/1.1\r\n${host}${lines}\r\n`;
const post = (lines: string, body: string) => `POST /a HTTP/1.1\r\n${host}${lines}\r\n${body}`;
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body);
const line = (requestLine: string) => `${requestLine}\r\n${host}\r\n`;
const hosted = (authority: string) => `GET /a HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const posted = (body: string, trailers: HeaderList = []) => ({ method: 'POST', body, trailers });

const rows: readonly Row[] = [
  ['the plainest', get(''), {}],
  ['no blank behind the colon', 'GET /a HTTP/1.1\r\nHost:shop.example\r\n\r\n', {}],
  ['blanks and tabs around a value', 'GET /a HTTP/1.1\r\nHost: \t shop.example \t\r\n\r\n', {}],
  ['a name in capitals', 'GET /a HTTP/1.1\r\nHOST: shop.example\r\n\r\n', {}],
  ['an empty value', get('X-A:\r\nX-B: \r\n'), {}],
  ['bytes above ASCII in a value', get('X-A: \xe4\xff\r\n'), {}],
  ['a tab inside a value', get('X-A: 1\t2\r\n'), {}],
  ['every mark that a name may have', get("!#$%&'*+-.^_`|~09azAZ: 1\r\n"), {}],
  ['one name on many lines', get('X-A: 1\r\nX-A: 2\r\nx-a: 1\r\n'), {}],
  ['as many headers as there may be', get('X-A: 1\r\n'.repeat(99)), {}],
  ['one empty line before it', `\r\n${get('')}`, {}],
  ['an empty line behind a body', `${post('Content-Length: 5\r\n', 'hello')}\r\n${get('')}`, posted('hello'), {}],
  ['HTTP/1.0', `GET /a HTTP/1.0\r\n${host}\r\n`, {}],
  ['HTTP/1.0 without host', 'GET /a HTTP/1.0\r\n\r\n', { authority: '' }],
  ['HTTP/1.0 with a body', `POST /a HTTP/1.0\r\n${host}Content-Length: 5\r\n\r\nhello`, posted('hello')],
  ['a host with a port', hosted('shop.example:8080'), { authority: 'shop.example:8080' }],
  ['an address of IPv4', hosted('127.0.0.1:80'), { authority: '127.0.0.1:80' }],
  ['an address of IPv6', hosted('[::1]'), { authority: '[::1]' }],
  ['an address of IPv6 with a port', hosted('[2001:db8::1]:8080'), { authority: '[2001:db8::1]:8080' }],
  ['a host with an underscore', hosted('my_shop.example'), { authority: 'my_shop.example' }],
  ['a host with a point behind', hosted('shop.example.'), { authority: 'shop.example.' }],
  ['a host in capitals', hosted('SHOP.example'), { authority: 'SHOP.example' }],
  ['a query', line('GET /a?b=c&d=%20 HTTP/1.1'), { target: '/a?b=c&d=%20' }],
  ['a query of a query', line('GET /a?b?c=/d HTTP/1.1'), { target: '/a?b?c=/d' }],
  ['an empty query', line('GET /a? HTTP/1.1'), { target: '/a?' }],
  [
    'marks that browsers send in paths',
    line("GET /[a]|{b}^`;,:@!$&'()*+=~ HTTP/1.1"),
    { target: "/[a]|{b}^`;,:@!$&'()*+=~" },
  ],
  ['a backslash in a query', line('GET /a?b=\\c HTTP/1.1'), { target: '/a?b=\\c' }],
  ['two slashes', line('GET //a//b HTTP/1.1'), { target: '//a//b' }],
  ['dots', line('GET /a/../b/. HTTP/1.1'), { target: '/a/../b/.' }],
  ['parameters of a step', line('GET /a;b=c/d;e HTTP/1.1'), { target: '/a;b=c/d;e' }],
  ['parameters of steps with dots', line('GET /a.;b/..c;d/...; HTTP/1.1'), { target: '/a.;b/..c;d/...;' }],
  ['dots and parameters in a query', line('GET /a?b=/..;/c HTTP/1.1'), { target: '/a?b=/..;/c' }],
  ['a long target', line(`GET /${'a'.repeat(8000)} HTTP/1.1`), { target: `/${'a'.repeat(8000)}` }],
  ['an address', line('GET http://shop.example/a?b HTTP/1.1'), { target: '/a?b' }],
  ['an address of https', line('GET https://shop.example/a HTTP/1.1'), {}],
  ['an address in capitals', line('GET HTTP://SHOP.example/a HTTP/1.1'), { authority: 'SHOP.example' }],
  ['an address without path', line('GET http://shop.example HTTP/1.1'), { target: '/' }],
  ['an address with a query and no path', line('GET http://shop.example?b HTTP/1.1'), { target: '/?b' }],
  ['an address in HTTP/1.0 without host', 'GET http://shop.example/a HTTP/1.0\r\n\r\n', {}],
  ['OPTIONS of the whole server', line('OPTIONS * HTTP/1.1'), { method: 'OPTIONS', target: '*' }],
  [
    'OPTIONS of an address without path',
    line('OPTIONS http://shop.example HTTP/1.1'),
    { method: 'OPTIONS', target: '*' },
  ],
  ['a rarer method', line('M-SEARCH /a HTTP/1.1'), { method: 'M-SEARCH' }],
  [
    'a body of a DELETE',
    `DELETE /a HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nhello`,
    { method: 'DELETE', body: 'hello' },
  ],
  ['a body of a GET', get('Content-Length: 5\r\n').concat('hello'), { body: 'hello' }],
  ['a length of 0', post('Content-Length: 0\r\n', ''), posted('')],
  ['a length with zeros before', post('Content-Length: 005\r\n', 'hello'), posted('hello')],
  ['a body of line ends', post('Content-Length: 8\r\n', '\r\n\r\n\r\n\r\n'), posted('\r\n\r\n\r\n\r\n')],
  [
    'a body that looks like a request',
    post('Content-Length: 22\r\n', 'GET /hidden HTTP/1.1\r\n'),
    posted('GET /hidden HTTP/1.1\r\n'),
  ],
  ['a body that may be expected', post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'), posted('hello')],
  ['no body that may be expected', get('Expect: 100-Continue\r\n'), {}],
  ['chunks', chunked('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'), posted('hello world')],
  [
    'chunks, the coding in capitals',
    post('Transfer-Encoding: CHUNKED\r\n', '5\r\nhello\r\n0\r\n\r\n'),
    posted('hello'),
  ],
  [
    'chunks, blanks around the coding',
    post('Transfer-Encoding:\t chunked \t\r\n', '5\r\nhello\r\n0\r\n\r\n'),
    posted('hello'),
  ],
  ['chunks of a GET', get('Transfer-Encoding: chunked\r\n').concat('5\r\nhello\r\n0\r\n\r\n'), { body: 'hello' }],
  ['a chunk with zeros before', chunked('0005\r\nhello\r\n000\r\n\r\n'), posted('hello')],
  ['a chunk of 16 digits', chunked('0000000000000005\r\nhello\r\n0\r\n\r\n'), posted('hello')],
  ['a chunk in capitals', chunked('A\r\nhellohello\r\n0\r\n\r\n'), posted('hellohello')],
  ['a chunk of line ends', chunked('4\r\n\r\n\r\n\r\n0\r\n\r\n'), posted('\r\n\r\n')],
  ['a chunk that looks like the last', chunked('5\r\n0\r\n\r\n\r\n0\r\n\r\n'), posted('0\r\n\r\n')],
  ['no chunk but the last', chunked('0\r\n\r\n'), posted('')],
  ['extensions', chunked('5;a;b=c;d="e \\" ;f"\r\nhello\r\n0;g\r\n\r\n'), posted('hello')],
  [
    'an extension as AWS signs chunks',
    chunked('5;chunk-signature=ad80c7\r\nhello\r\n0;chunk-signature=b681\r\n\r\n'),
    posted('hello'),
  ],
  ['a trailer', chunked('5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n'), posted('hello', ['x-sum', '1'])],
  ['trailers', chunked('0\r\nA: 1\r\nb:2\r\nA: 3\r\n\r\n'), posted('', ['a', '1', 'b', '2', 'a', '3'])],
  [
    'a trailer that is dropped',
    chunked('0\r\nSet-Cookie: a=b\r\nX-Forwarded-For: 1.1.1.1\r\nX-A: 1\r\n\r\n'),
    posted('', ['x-a', '1']),
  ],
  [
    'pipelined',
    `${get('')}${chunked('1\r\nx\r\n0\r\n\r\n')}${post('Content-Length: 1\r\n', 'y')}${get('')}`,
    {},
    posted('x'),
    posted('y'),
    {},
  ],
  ['Connection with empty places', get('Connection: , close,, x-a ,\r\n'), {}],
  ['a wish to upgrade that nobody has to follow', get('Upgrade: websocket\r\n'), {}],
];

export const wellFormedCorpus: readonly WellFormedRequests[] = rows.map(([name, text, ...requests]) => ({
  name,
  bytes: Buffer.from(text, 'latin1'),
  requests: requests.map((request) => ({ ...usual, ...request })),
}));
