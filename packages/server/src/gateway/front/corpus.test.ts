// The corpora over real sockets. What is malformed gets its status, the connection ends, and nothing behind it is ever a request; what
// is odd and right passes.
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { corpusLimits, malformedCorpus } from '../wire/malformed-corpus.test-support.ts';
import type { HeaderList } from '../wire/message.ts';
import { wellFormedCorpus } from '../wire/well-formed-corpus.test-support.ts';
import { count, get, hello, open, type RawClient } from './front.test-support.ts';

async function statusesOf(client: RawClient): Promise<number[]> {
  const statuses: number[] = [];
  for (;;) {
    const response = await client.response();
    if (response === undefined) return statuses;
    if (response.status >= 200) statuses.push(response.status);
  }
}

const ways: [name: string, send: (client: RawClient, bytes: Buffer) => Promise<void>][] = [
  ['at once', (client, bytes) => client.send(bytes)],
  [
    'in two pieces',
    async (client, bytes) => {
      await client.send(bytes.subarray(0, bytes.length / 2));
      await new Promise((resolve) => setImmediate(resolve));
      await client.send(bytes.subarray(bytes.length / 2));
    },
  ],
];

describe.each(ways)('a malformed request that comes %s', (_, send) => {
  it.each(malformedCorpus.map((row) => [row.name, row] as const))('is refused: %s', async (_name, row) => {
    // Without HTTP/2: its preface is among them.
    const { client, exchanges, front } = await open(count, { limits: corpusLimits, http2: false });
    const one = client();
    await send(one, row.bytes);
    // What a smuggler would want to be taken for a request.
    await one.send(get('/smuggled'));
    one.socket.end();
    const statuses = await statusesOf(one);
    expect(statuses).toEqual([...Array(row.goodBefore).fill(200), row.status]);
    expect(exchanges.filter(({ request }) => /hidden|smuggled/.test(request.target))).toEqual([]);
    expect(front.meter.malformed).toBe(1);
    expect((await client().ask(get('/after')))?.status).toBe(200);
  });
});

describe.each(ways)('a request that is odd and right and comes %s', (_, send) => {
  it.each(wellFormedCorpus.map((row) => [row.name, row] as const))('passes as it is meant: %s', async (_name, row) => {
    const seen: object[] = [];
    const collect = (exchange: Exchange) => {
      let body = '';
      const { method, target, authority } = exchange.request;
      const end = (trailers: HeaderList) => {
        seen.push({ method, target, authority, body, trailers });
        hello(exchange);
      };
      if (exchange.body === undefined) end([]);
      else
        exchange.body.read({
          chunk(bytes) {
            body += bytes.toString('latin1');
          },
          end,
          failed() {},
        });
    };
    const { client } = await open(collect, { limits: corpusLimits, http2: false });
    const one = client();
    await send(one, row.bytes);
    one.socket.end();
    await one.closed;
    expect(seen).toEqual(row.requests);
  });
});
