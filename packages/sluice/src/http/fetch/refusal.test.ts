import { createAdaptorServer } from '@hono/node-server';
import { expect, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { rateLimit } from './rate-limit.ts';

// Of these headers none goes by the wall clock.
const limit = rateLimit({
  policy: gcra({ limit: 1, window: '1m' }),
  headers: 'draft-8',
  clock: new TestClock(1_750_000_000_000),
  warn: false,
});

async function refusal() {
  const answer = limit(() => new Response('hello'));
  await answer(new Request('http://localhost/'));
  const { status, headers, body } = await answer(new Request('http://localhost/'));
  return { status, headers: Object.fromEntries(headers), text: await new Response(body).text() };
}

it('says the same with the runtime’s own responses and with those of a server that was started later', async () => {
  const runtimes = Response;
  const before = await refusal();
  createAdaptorServer({ fetch: () => new Response() });
  expect(Response).not.toBe(runtimes);
  expect(await refusal()).toEqual(before);
  expect(before.headers).toEqual({
    'content-type': 'application/problem+json',
    'ratelimit-policy': '"default";q=1;w=60',
    ratelimit: '"default";r=0;t=60',
    'retry-after': '60',
  });
  expect([before.status, JSON.parse(before.text).status]).toEqual([429, 429]);
});
