/** What attempts say about members, and when: to the circuit, to the outlier detection, to the admission. Real members, a clock of the test's own. */
import { type ClientRequest, get, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { ask, gateway, member, metric, type TestGateway, type TestMember } from '../gateway.test-support.ts';

const stateOf = (running: TestGateway, { id }: TestMember) =>
  metric(running, `sluice_upstream_breaker_state{upstream="app",member="${id}"}`);
const shareOf = (running: TestGateway, { id }: TestMember) =>
  metric(running, `sluice_upstream_member_share{upstream="app",member="${id}"}`);

/** An answer as soon as its head is there. */
function begun(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers }, (response) => {
      response.on('error', () => undefined);
      resolve(response.resume());
    }).on('error', reject);
  });
}

const ended = (response: IncomingMessage) =>
  new Promise<void>((resolve) => (response.closed ? resolve() : response.once('close', () => resolve())));

describe('a circuit', () => {
  const breaker = { failureRatio: 0.5, minimumCalls: 2, window: '10s', open: '1s', halfOpenCalls: 2 };
  const once = { outliers: false, retries: { attempts: 0 } };

  it('closes when its probes are answered, though the answers go on for ever', async () => {
    const clock = new TestClock(1_000_000);
    let isWell = false;
    const one = await member((_, response) => {
      if (isWell) response.writeHead(200).write('data: first\n\n');
      else response.writeHead(503).end();
    });
    const running = await gateway(
      { gateway: { upstreams: { app: { members: [one.id], ...once, breaker } } } },
      { clock },
    );
    for (let i = 0; i < 2; i += 1) await ask(running.url);
    expect(await stateOf(running, one)).toBe(2);
    isWell = true;
    clock.advance(1_000);
    const streams = [await begun(running.url), await begun(running.url)];
    expect(streams.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(await stateOf(running, one)).toBe(0);
    clock.advance(5_000);
    expect(await stateOf(running, one)).toBe(0);
    for (const stream of streams) stream.destroy();
  });

  it('closes when its probes switch protocols, however long the tunnels last', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member((_, response) => response.writeHead(503).end());
    const running = await gateway(
      { gateway: { upstreams: { app: { members: [one.id], ...once, breaker: { ...breaker, halfOpenCalls: 1 } } } } },
      { clock },
    );
    for (let i = 0; i < 2; i += 1) await ask(running.url);
    await one.stop();
    const tunnels = await member(undefined, one.port, (_, socket) => {
      socket.on('end', () => socket.end()).resume();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
    });
    clock.advance(1_000);
    const upgraded = await new Promise<import('node:stream').Duplex>((resolve, reject) => {
      get(running.url, { agent: false, headers: { connection: 'upgrade', upgrade: 'echo' } })
        .on('upgrade', (_, socket) => resolve(socket))
        .on('error', reject);
    });
    const state = await stateOf(running, tunnels);
    upgraded.destroy();
    expect(state).toBe(0);
  });

  it('gives a probe the time that every request has', async () => {
    const clock = new TestClock(1_000_000);
    const held: ServerResponse[] = [];
    let isWell = false;
    const one = await member((_, response) => (isWell ? held.push(response) : response.writeHead(503).end()));
    const upstream = { members: [one.id], ...once, timeouts: { connect: '1s', response: '10s' } };
    const running = await gateway(
      { gateway: { upstreams: { app: { ...upstream, breaker: { ...breaker, halfOpenCalls: 1 } } } } },
      { clock },
    );
    for (let i = 0; i < 2; i += 1) await ask(running.url);
    isWell = true;
    clock.advance(1_000);
    const probe = ask(running.url);
    await waitUntil('it is there', () => held.length === 1);
    clock.advance(5_000);
    expect(await stateOf(running, one)).toBe(1);
    held[0]!.end();
    expect((await probe).status).toBe(200);
    expect(await stateOf(running, one)).toBe(0);
  });

  it('hears of an answer that its member breaks off, and not of one that its client does', async () => {
    const clock = new TestClock(1_000_000);
    const held: ServerResponse[] = [];
    const one = await member((_, response) => {
      response.writeHead(200).write('first');
      held.push(response);
    });
    const running = await gateway(
      { gateway: { upstreams: { app: { members: [one.id], ...once, breaker } } } },
      { clock },
    );
    for (let i = 0; i < 4; i += 1) (await begun(running.url)).destroy();
    await waitUntil('all have left', async () => (await inFlight(running, one)) === 0);
    expect(await stateOf(running, one)).toBe(0);
    clock.advance(20_000);
    const answer = await begun(running.url);
    held[4]!.destroy();
    await ended(answer);
    // Its head went well, and its end did not.
    await waitUntil('it is open', async () => (await stateOf(running, one)) === 2);
  });
});

const inFlight = (running: TestGateway, { id }: TestMember) =>
  metric(running, `sluice_upstream_in_flight{upstream="app",member="${id}"}`);

it('takes a member out that begins every answer and ends none', async () => {
  const broken = await member((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('first');
    setImmediate(() => response.destroy());
  });
  const well = await member();
  const outliers = { consecutiveFailures: 3, ejection: '1h', longestEjection: '1h' };
  const running = await gateway({
    gateway: {
      upstreams: {
        app: { members: [broken.id, well.id], balancer: 'round-robin', outliers, retries: { attempts: 0 } },
      },
    },
  });
  for (let i = 0; i < 6; i += 1) await ended(await begun(running.url));
  await waitUntil('it is out', async () => (await shareOf(running, broken)) === 0);
  expect((await ask(running.url)).body).toBe(String(well.port));
});

describe('an admission that measures', () => {
  const atOnce = 10;

  /** So many at once, again and again: each is sent, worked at for 10 ms, and read by its client, and the limit after it. */
  async function limitAfter(times: { readonly sendingMs: number; readonly readingMs: number }): Promise<number[]> {
    const clock = new TestClock(1_000_000);
    let held: ServerResponse[] = [];
    const one = await member((_, response) => held.push(response));
    const running = await gateway(
      {
        gateway: {
          admissions: { main: { concurrency: { algorithm: 'aimd', min: atOnce, max: 1000 } } },
          routes: [{ name: 'all', admission: 'main' }],
          upstreams: { app: { members: [one.id], timeouts: { idle: '1h', response: '1h' } } },
        },
      },
      { clock },
    );
    const limits: number[] = [];
    const round = async ({ sendingMs, readingMs }: typeof times) => {
      held = [];
      const heads: IncomingMessage[] = [];
      const requests = Array.from({ length: atOnce }, () => posted(running.url, heads));
      await waitUntil('all have a place', async () => (await metric(running, inFlightOfMain)) === atOnce);
      clock.advance(sendingMs);
      for (const request of requests) request.end('the rest');
      await waitUntil('all are there', () => held.length === atOnce);
      clock.advance(10);
      for (const response of held) response.writeHead(200).write('first');
      await waitUntil('all are answered', () => heads.length === atOnce);
      expect(await metric(running, inFlightOfMain)).toBe(atOnce);
      clock.advance(readingMs);
      for (const response of held) response.end();
      await waitUntil('all have ended', async () => (await metric(running, inFlightOfMain)) === 0);
      clock.advance(1_000);
    };
    for (let i = 0; i < 3; i += 1) await round({ sendingMs: 0, readingMs: 0 });
    limits.push((await metric(running, 'sluice_admission_limit{admission="main"}'))!);
    for (let i = 0; i < 3; i += 1) await round(times);
    limits.push((await metric(running, 'sluice_admission_limit{admission="main"}'))!);
    return limits;
  }

  const inFlightOfMain = 'sluice_admission_in_flight{admission="main"}';

  function posted(url: string, heads: IncomingMessage[]): ClientRequest {
    const request = httpRequest(url, { method: 'POST', agent: false }, (response) => heads.push(response.resume()));
    request.write('the first');
    return request;
  }

  it('does not take a client that reads slowly for a slow member, and keeps its place', async () => {
    const [before, after] = (await limitAfter({ sendingMs: 0, readingMs: 6_000 })) as [number, number];
    expect(after).toBeGreaterThanOrEqual(before);
    expect(before).toBeGreaterThan(atOnce);
  });

  it('nor one that sends slowly', async () => {
    const [before, after] = (await limitAfter({ sendingMs: 6_000, readingMs: 0 })) as [number, number];
    expect(after).toBeGreaterThanOrEqual(before);
    expect(before).toBeGreaterThan(atOnce);
  });
});

describe('a member all of whose connections are in use', () => {
  const breaker = { failureRatio: 0.1, minimumCalls: 1, open: '1h' };
  const waiting = ({ id }: TestMember) => `sluice_upstream_connections{upstream="app",member="${id}",state="waiting"}`;

  it('is not at fault: 503 and when to come back', async () => {
    const clock = new TestClock(1_000_000);
    const held: ServerResponse[] = [];
    const one = await member((_, response) => held.push(response));
    const upstream = { members: [one.id], connections: 1, timeouts: { connect: '3s' }, breaker };
    const running = await gateway({ gateway: { upstreams: { app: upstream } } }, { clock });
    const first = ask(running.url);
    await waitUntil('it is there', () => held.length === 1);
    const second = ask(running.url);
    await waitUntil('it waits', async () => (await metric(running, waiting(one))) === 1);
    clock.advance(3_000);
    const answer = await second;
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '3']);
    expect(JSON.parse(answer.body)).toMatchObject({ status: 503, title: 'Temporarily reduced capacity' });
    expect(await stateOf(running, one)).toBe(0);
    const failures = `sluice_upstream_failures_total{upstream="app",member="${one.id}"`;
    expect(await metric(running, `${failures},reason="busy"}`)).toBe(1);
    expect(await metric(running, `${failures},reason="connect"}`)).toBe(0);
    expect(await metric(running, 'sluice_gateway_refused_requests_total{route="default",reason="no-member"}')).toBe(1);
    held[0]!.end();
    expect((await first).status).toBe(200);
  });

  it('leaves the request to another, whatever it is and whatever the budget', async () => {
    const clock = new TestClock(1_000_000);
    const held: ServerResponse[] = [];
    const busy = await member((_, response) => held.push(response));
    const free = await member();
    const upstream = {
      members: [busy.id, free.id],
      balancer: 'round-robin',
      connections: 1,
      timeouts: { connect: '3s' },
      retries: { attempts: 1, budget: 0 },
    };
    const running = await gateway({ gateway: { upstreams: { app: upstream } } }, { clock });
    const first = ask(running.url);
    await waitUntil('it is there', () => held.length === 1);
    expect((await ask(running.url)).body).toBe(String(free.port));
    const third = ask(running.url, { method: 'POST', body: 'pay' });
    await waitUntil('it waits', async () => (await metric(running, waiting(busy))) === 1);
    clock.advance(3_000);
    expect((await third).body).toBe(String(free.port));
    expect(await metric(running, 'sluice_upstream_retries_total{upstream="app",result="refused"}')).toBe(0);
    held[0]?.destroy();
    await first.catch(() => undefined);
  });
});

describe('an upgrade', () => {
  const headers = { connection: 'upgrade', upgrade: 'websocket' };

  it('goes to another member where it cannot have arrived', async () => {
    const [gone, one] = [await member(), await member()];
    await gone.stop();
    const { url } = await gateway({
      gateway: {
        upstreams: { app: { members: [gone.id, one.id], balancer: 'round-robin', outliers: false } },
      },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await ask(url, { headers })).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
  });

  it('and to none where it may have', async () => {
    const broken = await member((request) => request.socket.destroy());
    const { url } = await gateway({
      gateway: { upstreams: { app: { members: [broken.id], outliers: false, retries: { attempts: 3 } } } },
    });
    expect((await ask(url, { headers })).status).toBe(502);
    expect(broken.seen).toHaveLength(1);
  });
});

it('passes an answer on that opens the last circuit: nobody else could be asked', async () => {
  const one = await member((_, response) => response.writeHead(503, { 'retry-after': '120' }).end('until noon'));
  const running = await gateway({
    gateway: {
      upstreams: {
        app: {
          members: [one.id],
          outliers: false,
          breaker: { failureRatio: 0.5, minimumCalls: 3, open: '1h', halfOpenCalls: 1 },
          retries: { attempts: 1, budget: 1 },
        },
      },
    },
  });
  const answers = [await ask(running.url), await ask(running.url)];
  expect(answers.map(({ body, headers }) => [body, headers['retry-after']])).toEqual([
    ['until noon', '120'],
    ['until noon', '120'],
  ]);
  expect([one.seen.length, await stateOf(running, one)]).toEqual([3, 2]);
  expect(await metric(running, 'sluice_upstream_retries_total{upstream="app",result="made"}')).toBe(1);
});
