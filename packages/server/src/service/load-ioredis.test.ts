import { setFlagsFromString } from 'node:v8';
import { expect, it } from 'vitest';
import { loadIoredis } from './load-ioredis.ts';

it('leaves strings with methods that compiled code need not look up', async () => {
  setFlagsFromString('--allow-natives-syntax');
  const hasFastProperties = new Function('o', 'return %HasFastProperties(o)') as (o: object) => boolean;
  await import('ioredis');
  // Once this is true, ioredis extends `String` no more, and nothing has to be mended.
  expect(hasFastProperties(String.prototype)).toBe(false);
  await loadIoredis();
  expect(hasFastProperties(String.prototype)).toBe(true);
});
