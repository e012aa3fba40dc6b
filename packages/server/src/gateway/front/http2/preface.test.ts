import { expect, it } from 'vitest';
import { prefaceIn } from './preface.ts';

it.each([
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 0, 'whole'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore', 0, 'whole'],
  ['xxPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 2, 'whole'],
  ['P', 0, 'part'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n', 0, 'part'],
  ['POST / HTTP/1.1', 0, 'none'],
  ['PROPFIND / HTTP/1.1', 0, 'none'],
  ['PRI * HTTP/2.0\r\nHost: a\r\n\r\n', 0, 'none'],
  ['GET / HTTP/1.1', 0, 'none'],
] as const)('%j from %i on: %s', (text, at, found) => {
  expect(prefaceIn(Buffer.from(text), at)).toBe(found);
});
