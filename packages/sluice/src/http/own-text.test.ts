import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { expressRateLimitStore } from './express/index.ts';
import { gate } from './middleware/gate.ts';
import type { RateLimitOptions } from './middleware/options.ts';
import type { RequestReader } from './middleware/request-reader.ts';
import { ownText } from './own-text.ts';

describe('a text of its own', () => {
  it('is the same text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => ownText(text) === text));
  });
});

describe('what a limit keeps of a request', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');

  const requests = 2000;
  const padding = 'x'.repeat(16_000);
  const most = (requests * padding.length) / 4;

  /** The last part of a long text, as parsers of headers and forms give it. */
  const partOf = (i: number, own: string) => `${i}${padding}, ${own}`.split(', ')[1] as string;

  function keptBytes(ask: (i: number) => unknown): number {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < requests; i += 1) ask(i);
    collectGarbage();
    return process.memoryUsage().heapUsed - before;
  }

  interface Asked {
    readonly forwarded: string;
    readonly framework: string | undefined;
    readonly name: string;
  }

  const policy = gcra({ limit: 1, window: '1h' });
  const address = (i: number) => `203.100.${100 + Math.floor(i / 100)}.${100 + (i % 100)}`;

  it.each<[what: string, options: Partial<RateLimitOptions<Asked, never, never>>]>([
    ['an address out of a header', { policy, trustProxy: 1 }],
    ['an address that the framework has out of one', { policy }],
    ['a key', { policy, key: ({ name }) => name }],
    ['a field', { rules: [{ name: 'by-name', key: 'name', policy }], subject: ({ name }) => ({ name }) }],
  ])('is %s, and not the text that it was part of', (_what, options) => {
    const reader: RequestReader<Asked> = {
      peerAddress: () => '10.0.0.8',
      header: ({ forwarded }) => forwarded,
      method: () => 'GET',
      path: () => '/',
      ownAddress: ({ framework }) => framework,
      ownTrust: () => 'some',
    };
    const entrance = gate<Asked, never>({ warn: false, ...options } as never, reader);
    const kept = keptBytes((i) => {
      const forwarded = `${i}${padding}, ${address(i)}`;
      entrance.enter({ forwarded, framework: partOf(i, address(i)), name: partOf(i, `stranger-${1000 + i}`) });
    });
    // The keys are all there.
    const again = { forwarded: address(7), framework: address(7), name: `stranger-${1007}` };
    expect(entrance.enter(again)).toMatchObject({ result: { allowed: false } });
    expect(kept).toBeLessThan(most);
  });

  it('is a key of express-rate-limit, and not the text that it was part of', () => {
    const store = expressRateLimitStore({ policy });
    expect(keptBytes((i) => store.increment(partOf(i, address(i))))).toBeLessThan(most);
    expect(store.increment(address(7))).toMatchObject({ totalHits: 2 });
  });
});
