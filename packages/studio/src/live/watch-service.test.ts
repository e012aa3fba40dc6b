import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { snapshot } from './live.test-support.ts';
import { type Connection, longestSilenceMs, watchService } from './watch-service.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

/** A server that gives each request the next of these answers, the last one for ever; and somebody who watches it. */
async function watched(answers: readonly Answer[], { token }: { token?: string } = {}) {
  let requests = 0;
  const server = createServer((request, response) => {
    const answer = answers[Math.min(requests, answers.length - 1)]!;
    requests += 1;
    answer(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const controller = new AbortController();
  const clock = new TestClock();
  const connections: Connection[] = [];
  const times: number[] = [];
  const ended = watchService({
    address: `http://127.0.0.1:${port}/v1/live`,
    token,
    clock,
    random: () => 1,
    signal: controller.signal,
    onConnection: (connection) => connections.push(connection),
    onSnapshot: ({ atMs }) => times.push(atMs),
  });
  cleanUps.push(() => {
    controller.abort();
    server.closeAllConnections();
    server.close();
  });
  const states = () => connections.map(({ state }) => state).join(' ');
  return { clock, connections, times, states, ended, controller, requests: () => requests };
}

const event = (atMs: number) => `event: snapshot\ndata: ${JSON.stringify(snapshot(atMs))}\n\n`;

const sends =
  (...events: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(events.join(''));
  };
const sendsAndEnds =
  (...events: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(events.join(''));
  };
const says =
  (status: number, type: string, body: string, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'Content-Type': type, ...headers });
    response.end(body);
  };
const problem = (detail: string) => JSON.stringify({ type: 'about:blank', title: 'No', status: 0, detail });

describe('watching a service', () => {
  test('hears its snapshots', async () => {
    const { times, states } = await watched([sends(event(1), ': alive\n\n', 'event: other\ndata: 1\n\n', event(2))]);
    await waitUntil('both came', () => times.length === 2);
    expect(times).toEqual([1, 2]);
    expect(states()).toBe('connecting live');
  });

  test('comes back when it was lost, and the first wait is short again after it was live', async () => {
    const { clock, connections, times } = await watched([
      sendsAndEnds(event(1)),
      sendsAndEnds(event(2)),
      sends(event(3)),
    ]);
    for (const count of [1, 2]) {
      await waitUntil('it waits', () => connections.filter(({ state }) => state === 'waiting').length === count);
      expect(connections.at(-1)).toMatchObject({ waitMs: 1000, because: 'the service ended the connection' });
      await waitUntil('it sleeps', () => clock.sleeping === 1);
      clock.advance(1000);
    }
    await waitUntil('the third came', () => times.length === 3);
    expect(connections.at(-1)).toEqual({ state: 'live' });
  });

  test('waits longer each time, and as long as it was told', async () => {
    const busy = says(503, 'application/problem+json', problem('32 others are watching.'), { 'Retry-After': '7' });
    const { clock, connections } = await watched([says(500, 'text/plain', 'no'), busy, says(502, 'text/html', '<p>')]);
    const waits: [number, string][] = [];
    for (let count = 1; count <= 4; count += 1) {
      await waitUntil('it sleeps', () => clock.sleeping === 1 && connections.at(-1)?.state === 'waiting');
      const { waitMs, because } = connections.at(-1) as Extract<Connection, { state: 'waiting' }>;
      waits.push([waitMs, because]);
      connections.length = 0;
      clock.advance(waitMs);
    }
    expect(waits).toEqual([
      [1000, 'GET v1/live answered 500 with text/plain'],
      [7000, '32 others are watching.'],
      [4000, 'GET v1/live answered 502 with text/html'],
      [8000, 'GET v1/live answered 502 with text/html'],
    ]);
  });

  test('gives up a stream that fell silent', async () => {
    const { clock, connections, times } = await watched([sends(event(1)), sends(event(2))]);
    await waitUntil('one came', () => times.length === 1);
    clock.advance(longestSilenceMs);
    await waitUntil('it waits', () => connections.at(-1)?.state === 'waiting');
    expect(connections.at(-1)).toMatchObject({ because: `it has been silent for ${longestSilenceMs / 1000} s` });
    await waitUntil('it sleeps', () => clock.sleeping === 1);
    clock.advance(1000);
    await waitUntil('the next came', () => times.length === 2);
  });

  test('sends the token, and asks for one when it is wrong', async () => {
    const guarded: Answer = (response, request) => {
      if (request.headers.authorization === 'Bearer secret') sends(event(1))(response, request);
      else says(401, 'application/problem+json', problem('A valid token is needed.'))(response, request);
    };
    const without = await watched([guarded]);
    await without.ended;
    expect(without.connections.at(-1)).toEqual({ state: 'unauthorized', because: 'A valid token is needed.' });
    const known = await watched([guarded], { token: 'secret' });
    await waitUntil('it came', () => known.times.length === 1);
  });

  test.each<[string, Answer]>([
    ['a page that is not there', says(404, 'text/html', '<h1>Not found')],
    ['a static site that answers everything with its page', says(200, 'text/html', '<!doctype html>')],
  ])('knows %s to be no service, and does not ask again', async (_, answer) => {
    const { ended, states, requests } = await watched([answer]);
    await ended;
    expect(states()).toBe('connecting not-a-service');
    expect(requests()).toBe(1);
  });

  test('but what was a service will be one again', async () => {
    const { clock, connections, times } = await watched([
      sendsAndEnds(event(1)),
      says(404, 'text/html', ''),
      sends(event(2)),
    ]);
    for (let count = 1; count <= 2; count += 1) {
      await waitUntil('it sleeps', () => clock.sleeping === 1 && connections.at(-1)?.state === 'waiting');
      connections.length = 0;
      clock.advance(2000);
    }
    await waitUntil('the next came', () => times.length === 2);
  });

  test.each([
    ['not JSON', 'event: snapshot\ndata: {\n\n', 'not JSON'],
    ['of another version', 'event: snapshot\ndata: {"version":"9"}\n\n', 'another version'],
  ])('says when what comes is %s', async (_, text, because) => {
    const { connections } = await watched([sends(text)]);
    await waitUntil('it waits', () => connections.at(-1)?.state === 'waiting');
    expect(connections.at(-1)).toMatchObject({ because: expect.stringContaining(because) });
  });

  test('ends when nobody wants it any more, awake or asleep', async () => {
    const awake = await watched([sends(event(1))]);
    await waitUntil('one came', () => awake.times.length === 1);
    awake.controller.abort();
    await awake.ended;
    expect(awake.clock.sleeping).toBe(0);
    const asleep = await watched([says(500, 'text/plain', '')]);
    await waitUntil('it sleeps', () => asleep.clock.sleeping === 1 && asleep.connections.at(-1)?.state === 'waiting');
    asleep.controller.abort();
    await asleep.ended;
  });
});
