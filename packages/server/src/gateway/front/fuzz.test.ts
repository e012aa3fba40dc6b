// Whatever is sent, the front lives, hands on what is a request and nothing else, and serves the others.
// PROPERTY_SEED takes another seed.
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { seededRandom } from 'sluice/testing';
import { describe, expect, inject, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { malformedCorpus } from '../wire/malformed-corpus.test-support.ts';
import { wellFormedCorpus } from '../wire/well-formed-corpus.test-support.ts';
import { count, echo, get, hello, limits, open, post, postChunked, RawClient } from './front.test-support.ts';
import {
  endHeaders,
  endStream,
  frame,
  frames,
  http2Client,
  literal,
  preface,
} from './http2/http2-client.test-support.ts';

const seed = inject('propertySeed');
const random = seededRandom(seed);
const below = (n: number): number => Math.floor(random() * n);
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const anyBytes = (n: number): Buffer => Buffer.from(Array.from({ length: n }, () => below(256)));

const http2Head = Buffer.concat([
  literal(':method', 'GET'),
  literal(':scheme', 'http'),
  literal(':path', '/'),
  literal(':authority', 'a.example'),
]);
const http2 = Buffer.concat([
  preface,
  frame(frames.settings, 0, 0),
  frame(frames.headers, endHeaders | endStream, 1, http2Head),
  frame(frames.headers, endHeaders, 3, http2Head),
  frame(frames.data, endStream, 3, Buffer.from('hello')),
  frame(frames.ping, 0, 0, Buffer.alloc(8)),
]);

const seeds: readonly Buffer[] = [
  ...malformedCorpus.map(({ bytes }) => bytes),
  ...wellFormedCorpus.map(({ bytes }) => bytes),
  ...[
    get('/a'),
    get('/a', ['Connection: Upgrade', 'Upgrade: websocket']),
    post('/b', 'hello', ['Expect: 100-continue']),
    `${postChunked('/c', ['one', 'two'])}0\r\nX-Sum: 1\r\n\r\n`,
  ].map((text) => Buffer.from(text, 'latin1')),
  http2,
  http2,
];

const marks = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  '0\r\n\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  '\xff',
];

function mutated(bytes: Buffer): Buffer {
  const at = below(bytes.length + 1);
  const end = Math.min(bytes.length, at + below(8));
  switch (below(6)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), anyBytes(1 + below(4)), bytes.subarray(end)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(oneOf(marks), 'latin1'), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([bytes, oneOf(seeds)]);
    default: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[below(copy.length)] = below(256);
      return copy;
    }
  }
}

/** Answers in each of the ways there are. */
function anyAnswer(exchange: Exchange): void {
  const answer = oneOf([hello, count, echo, later, aborted]);
  answer(exchange);
}
const later = (exchange: Exchange) => void setImmediate(() => hello(exchange));
const aborted = (exchange: Exchange) => exchange.answer({ status: 200, headers: [] }, 'chunked').abort();

describe('the front under random input', () => {
  it('survives 3,000 mutated requests, and serves another client after each batch', async () => {
    const { port, front, exchanges, clock } = await open((exchange) =>
      exchange.request.target === '/good' ? hello(exchange) : anyAnswer(exchange),
    );
    const batches = 60;
    const inBatch = 50;
    for (let batch = 0; batch < batches; batch += 1) {
      const clients = Array.from({ length: inBatch }, () => {
        let bytes = mutated(oneOf(seeds));
        while (random() < 0.4) bytes = mutated(bytes);
        const client = new RawClient(port);
        const cut = random() < 0.3 ? below(bytes.length) : bytes.length;
        client.socket.write(bytes.subarray(0, cut));
        if (cut < bytes.length) client.socket.write(bytes.subarray(cut));
        if (random() < 0.7) client.socket.end();
        return client;
      });
      const good = new RawClient(port);
      expect((await good.ask(get('/good')))?.body, `seed ${seed}, batch ${batch}`).toBe('GET /good');
      good.close();
      await sleep(10);
      for (const client of clients) client.close();
    }
    expect((await http2Client(port).ask({ ':path': '/good' })).body).toBe('GET /good');
    console.log(`requests mutated: ${batches * inBatch} (seed ${seed}), ${JSON.stringify(front.meter)}`);
    expect(front.meter.malformed).toBeGreaterThan(500);
    await waitUntil('nothing of them is left', async () => {
      clock.advance(limits.headMs);
      return front.meter.connections === 0;
    });
    // What was handed on has the shape of a request, whatever it was made of.
    for (const { request } of exchanges) {
      expect(request.method, `seed ${seed}`).toMatch(/^[A-Z][A-Z0-9_-]*$/);
      expect(request.target, `seed ${seed}`).toMatch(/^(\*|\/[\x21-\x7e]*)$/);
      expect(request.headers.join(), `seed ${seed}`).not.toMatch(/[\r\n\0]/);
    }
  });
});
