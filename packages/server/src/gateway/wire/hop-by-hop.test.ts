import { expect, it } from 'vitest';
import { endToEnd } from './hop-by-hop.ts';
import type { HeaderList } from './message.ts';

const rows: readonly [what: string, headers: HeaderList, passed: HeaderList][] = [
  ['what is for the other end', ['accept', '*/*', 'x-a', '1', 'x-a', '2'], ['accept', '*/*', 'x-a', '1', 'x-a', '2']],
  [
    'not what is for the hop',
    ['connection', 'keep-alive', 'keep-alive', 'timeout=5', 'te', 'trailers', 'x-a', '1'],
    ['x-a', '1'],
  ],
  [
    'not what frames',
    ['content-length', '5', 'transfer-encoding', 'chunked', 'expect', '100-continue', 'x-a', '1'],
    ['x-a', '1'],
  ],
  ['not what is for proxies', ['proxy-authorization', 'a', 'proxy-authenticate', 'b', 'proxy-connection', 'close'], []],
  ['not a wish to upgrade', ['connection', 'upgrade, http2-settings', 'upgrade', 'h2c', 'http2-settings', 'x'], []],
  ['not what Connection names', ['connection', 'close, X-A', 'x-a', '1', 'x-b', '2'], ['x-b', '2']],
  ['whatever stands before Connection', ['x-a', '1', 'x-b', '2', 'connection', 'x-a'], ['x-b', '2']],
  [
    'by all lines of Connection',
    ['connection', 'x-a', 'x-a', '1', 'connection', 'x-b', 'x-b', '2', 'x-c', '3'],
    ['x-c', '3'],
  ],
  ['a trailer by its name', ['trailer', 'x-sum'], ['trailer', 'x-sum']],
  [
    'who the client is, though Connection names it',
    [
      'connection',
      'authorization, cookie, forwarded, x-forwarded-for, x-real-ip, x-a',
      'authorization',
      'a',
      'cookie',
      'b',
      'forwarded',
      'c',
      'x-forwarded-for',
      'd',
      'x-real-ip',
      'e',
      'x-a',
      'f',
    ],
    ['authorization', 'a', 'cookie', 'b', 'forwarded', 'c', 'x-forwarded-for', 'd', 'x-real-ip', 'e'],
  ],
];

it.each(rows)('passes on %s', (_, headers, passed) => {
  expect(endToEnd(headers)).toEqual(passed);
});
