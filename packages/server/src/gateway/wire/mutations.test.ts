// What breaks it with another seed (PROPERTY_SEED) belongs into the corpus.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findHeadEnd } from './head-end.ts';
import { malformedCorpus } from './malformed-corpus.test-support.ts';
import { BadMessage } from './message.ts';
import { mutated } from './mutations.test-support.ts';
import { readMessages } from './read-messages.test-support.ts';
import { readResponse } from './read-response.ts';
import { wellFormedCorpus } from './well-formed-corpus.test-support.ts';

const requests = [...malformedCorpus, ...wellFormedCorpus]
  .map((row) => row.bytes)
  .filter((bytes) => bytes.length < 1000);
const answers = [
  'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive, x-a\r\nX-A: 1\r\n\r\n',
  'HTTP/1.0 304 Not Modified\r\nETag: "a"\r\n\r\n',
].map((text) => Buffer.from(text));

it('a request with anything wrong is refused or read, and nothing else', () => {
  const seen = { refused: 0, read: 0 };
  fc.assert(
    fc.property(mutated(requests), (bytes) => {
      const { fault } = readMessages([bytes]);
      seen[fault === undefined ? 'read' : 'refused'] += 1;
    }),
    { numRuns: 10_000 },
  );
  expect(seen.refused).toBeGreaterThan(1000);
  expect(seen.read).toBeGreaterThan(500);
});

it('bytes of any kind are refused or waited for', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(readMessages([Buffer.from(bytes), Buffer.from('\r\n\r\n')]).fault).toBeInstanceOf(BadMessage);
    }),
    { numRuns: 2000 },
  );
});

it('an answer with anything wrong is refused or read, and nothing else', () => {
  fc.assert(
    fc.property(mutated(answers), fc.constantFrom('GET', 'HEAD'), (bytes, method) => {
      const end = findHeadEnd(bytes, 0, 0);
      if (end === -1) return;
      try {
        readResponse(bytes, 0, end, { headBytes: 1000, headers: 20 }, method);
      } catch (error) {
        expect(error).toBeInstanceOf(BadMessage);
      }
    }),
    { numRuns: 5000 },
  );
});
