import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { malformedCorpus } from './malformed-corpus.test-support.ts';
import { readMessages } from './read-messages.test-support.ts';
import { wellFormedCorpus } from './well-formed-corpus.test-support.ts';

const inBytes = (bytes: Buffer) => [...bytes].map((byte) => Buffer.of(byte));

describe('refuses', () => {
  it.each(malformedCorpus)('$name: $status', ({ bytes, status, goodBefore }) => {
    const { requests, fault } = readMessages([bytes]);
    expect({ status: fault?.status, goodBefore: requests.length }).toEqual({ status, goodBefore });
  });

  it('the same when it comes byte by byte', () => {
    for (const { name, bytes, status, goodBefore } of malformedCorpus.filter((row) => row.bytes.length < 4000)) {
      const { requests, fault } = readMessages(inBytes(bytes));
      expect({ name, status: fault?.status, goodBefore: requests.length }).toEqual({ name, status, goodBefore });
    }
  });

  it('each by a name of its own, and says why', () => {
    expect(new Set(malformedCorpus.map((row) => row.name)).size).toBe(malformedCorpus.length);
    for (const { bytes } of malformedCorpus) expect(readMessages([bytes]).fault?.message).toMatch(/^[\x20-\x7e]{10,}$/);
  });
});

describe('takes', () => {
  it.each(wellFormedCorpus)('$name', ({ bytes, requests }) => {
    const read = readMessages([bytes]);
    expect(read.fault).toBeUndefined();
    expect(read.isUnfinished).toBe(false);
    const seen = read.requests.map(({ head: { method, target, authority }, body, trailers }) => ({
      method,
      target,
      authority,
      body,
      trailers,
    }));
    expect(seen).toEqual(requests);
  });
});

it('any pieces are read as the whole is', () => {
  const corpus = [...malformedCorpus, ...wellFormedCorpus].filter((row) => row.bytes.length < 2000);
  fc.assert(
    fc.property(fc.constantFrom(...corpus), fc.array(fc.nat(2000), { maxLength: 12 }), ({ bytes }, cuts) => {
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(readMessages(pieces)).toEqual(readMessages([bytes]));
    }),
    { numRuns: 1500 },
  );
});
