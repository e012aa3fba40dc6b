/** The gateway as clients see it, stage by stage: real members, real sockets. */
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { ask, gateway, member, metric, type TestAnswer } from './gateway.test-support.ts';

const membersOf = (...members: readonly { readonly id: string }[]) => members.map(({ id }) => id);
const to = (...members: readonly { readonly id: string }[]) => ({ app: { members: membersOf(...members) } });

function problemOf({ headers, body }: TestAnswer): { status: number; detail: string } {
  expect(headers['content-type']).toBe('application/problem+json');
  return JSON.parse(body) as { status: number; detail: string };
}

describe('identify', () => {
  it('answers 404 where no route leads, and asks no member', async () => {
    const one = await member();
    const running = await gateway({
      gateway: { routes: [{ name: 'api', match: { path: '/api/*' } }], upstreams: to(one) },
    });
    const answer = await ask(`${running.url}/other`);
    expect([answer.status, problemOf(answer).status]).toEqual([404, 404]);
    expect(one.seen).toEqual([]);
    expect(await metric(running, 'sluice_gateway_refused_requests_total{route="none",reason="no-route"}')).toBe(1);
  });

  it('sends each request to the upstream of the first route that matches, without the prefix that the route strips', async () => {
    const [api, web] = [await member(), await member()];
    const { url } = await gateway({
      gateway: {
        routes: [
          { name: 'api', match: { path: '/api/*' }, upstream: 'api', stripPrefix: '/api' },
          { name: 'web', upstream: 'web' },
        ],
        upstreams: { api: { members: [api.id] }, web: { members: [web.id] } },
      },
    });
    expect((await ask(`${url}/api/users?x=%2F`)).body).toBe(String(api.port));
    expect((await ask(`${url}/`)).body).toBe(String(web.port));
    expect(api.seen.map(({ url: seen }) => seen)).toEqual(['/users?x=%2F']);
  });

  const key = 'x-api-key';
  const limited = {
    rules: [{ name: 'per-key', key: 'user', algorithm: 'fixed-window', limit: 1, window: '1h' }],
  };
  const rows: [name: string, source: string, first: object, second: object, path: string, statuses: number[]][] = [
    ['a header', `header:${key}`, { [key]: 'ann' }, { [key]: 'bob' }, '/', [200, 429, 200]],
    ['a cookie', 'cookie:sid', { cookie: 'a=b; sid=ann' }, { cookie: 'sid=bob' }, '/', [200, 429, 200]],
    ['nobody', `header:${key}`, {}, {}, '/', [200, 200, 200]],
  ];
  it.each(rows)('limits by %s', async (_, source, first, second, path, statuses) => {
    const one = await member();
    const { url } = await gateway({ ...limited, gateway: { identify: { user: source }, upstreams: to(one) } });
    const asked = [first, first, second].map((headers) => ({ headers: headers as Record<string, string> }));
    const seen: number[] = [];
    for (const options of asked) seen.push((await ask(`${url}${path}`, options)).status);
    expect(seen).toEqual(statuses);
  });

  const twice: [what: string, source: string, path: string, headers: Record<string, string | string[]>][] = [
    ['a header', `header:${key}`, '/', { [key]: ['ann', 'bob'] }],
    ['a cookie', 'cookie:sid', '/', { cookie: 'sid=ann; sid=bob' }],
    ['a parameter', 'query:user', '/?user=ann&user=bob', {}],
  ];
  it.each(twice)('refuses a request that names two callers by %s', async (_, source, path, headers) => {
    const one = await member();
    const { url } = await gateway({ ...limited, gateway: { identify: { user: source }, upstreams: to(one) } });
    const answer = await ask(`${url}${path}`, { headers });
    expect([answer.status, problemOf(answer).detail]).toEqual([400, expect.stringContaining('more than once')]);
    expect(one.seen).toEqual([]);
  });

  it('takes a value that comes twice and is the same', async () => {
    const one = await member();
    const { url } = await gateway({ ...limited, gateway: { identify: { user: `header:${key}` }, upstreams: to(one) } });
    expect((await ask(url, { headers: { [key]: ['ann', 'ann'] } })).status).toBe(200);
  });
});

describe('limit', () => {
  const rules = [{ name: 'per-ip', key: 'ip', algorithm: 'fixed-window', limit: 2, window: '1h' }];

  it('answers 429 with the headers and the problem, and asks no member', async () => {
    const one = await member();
    const running = await gateway({ rules, gateway: { upstreams: to(one) } });
    const answers = [await ask(running.url), await ask(running.url), await ask(running.url)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['1', '0', '0']);
    expect(answers[0]!.headers['ratelimit-policy']).toBe('"per-ip";q=2;w=3600');
    const refused = answers[2]!;
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(problemOf(refused)).toMatchObject({ status: 429, 'violated-policies': ['per-ip'] });
    expect(one.seen).toHaveLength(2);
    expect(await metric(running, 'sluice_checks_total{rule="per-ip",outcome="refused"}')).toBe(1);
    expect(await metric(running, 'sluice_gateway_refused_requests_total{route="default",reason="limit"}')).toBe(1);
  });

  it('has one set of headers: ours where a rule was asked, else those of the member', async () => {
    const own = {
      'x-ratelimit-limit': '7',
      'x-ratelimit-resource': 'search',
      ratelimit: '"own";r=7',
      'ratelimit-policy': '"own";q=7',
      'ratelimit-remaining': '7',
      'retry-after': '7',
    };
    const one = await member((_, response) => response.writeHead(200, own).end());
    const { url } = await gateway({
      rules,
      gateway: {
        routes: [{ name: 'free', match: { path: '/free' }, rules: [] }, { name: 'others' }],
        upstreams: to(one),
      },
    });
    expect((await ask(`${url}/free`)).headers).toMatchObject(own);
    const { headers } = await ask(`${url}/limited`);
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '2', 'ratelimit-policy': '"per-ip";q=2;w=3600' });
    expect(headers.ratelimit).toMatch(/^"per-ip";r=1;t=\d+$/);
    // What the member says of itself.
    expect(headers['retry-after']).toBe('7');
    expect([headers['x-ratelimit-resource'], headers['ratelimit-remaining']]).toEqual([undefined, undefined]);
  });

  it('asks only the rules that the route names, with one state for all routes', async () => {
    const one = await member();
    const { url } = await gateway({
      rules: [...rules, { name: 'strict', key: 'ip', algorithm: 'fixed-window', limit: 1, window: '1h' }],
      gateway: {
        routes: [
          { name: 'free', match: { path: '/free' }, rules: [] },
          { name: 'strict', match: { path: '/strict' }, rules: ['strict'] },
          { name: 'others', rules: ['per-ip'] },
        ],
        upstreams: to(one),
      },
    });
    const asked = ['/free', '/free', '/free', '/strict', '/strict', '/a', '/b', '/c', '/free'];
    const statuses: number[] = [];
    for (const path of asked) statuses.push((await ask(`${url}${path}`)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 200, 200, 429, 200]);
  });

  it('sees through other ways of writing a path', async () => {
    const one = await member();
    const { url } = await gateway({
      rules: [{ name: 'log-in', match: { path: '/log-in' }, algorithm: 'fixed-window', limit: 1, window: '1h' }],
      gateway: { upstreams: to(one) },
    });
    const paths = ['/log-in', '/log%2Din', '//log-in', '/x/../log-in', '/log-in?again'];
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await raw(url, path)).status);
    expect(statuses).toEqual([200, 429, 429, 429, 429]);
  });

  it('knows hosts and methods in whatever case rules and lists have them', async () => {
    const one = await member();
    const { url } = await gateway({
      rules: [{ name: 'x', match: { host: 'Api.Example', method: 'get' }, algorithm: 'gcra', limit: 1, window: '1h' }],
      deny: { host: 'Private.Example' },
      gateway: { upstreams: to(one) },
    });
    const statuses: number[] = [];
    for (const host of ['api.example', 'API.example:80', 'private.example', 'other.example'])
      statuses.push((await ask(url, { headers: { host } })).status);
    expect(statuses).toEqual([200, 429, 429, 200]);
  });

  it('says in its log which rules limit nobody, also after a reload', async () => {
    const one = await member();
    const config = (key: string) => ({
      rules: [{ name: 'x', key, algorithm: 'gcra', limit: 1, window: '1h' }],
      gateway: { upstreams: to(one) },
    });
    const running = await gateway(config('ip'));
    const idle = () => running.said.filter((line) => line.startsWith('some settings do nothing here'));
    expect(idle()).toEqual([]);
    await running.configure(config('user'));
    expect(idle()).toEqual([
      expect.stringContaining('rule x limits nobody here: gateway.identify does not say where user'),
    ]);
  });

  it('refuses whoever is on the deny-list, and lets pass whoever is on the allow-list', async () => {
    const one = await member();
    const { url } = await gateway({
      rules: [{ name: 'none', algorithm: 'fixed-window', limit: 1, window: '1h' }],
      allow: { path: '/healthz' },
      deny: { path: '/private*' },
      gateway: { upstreams: to(one) },
    });
    const statuses: number[] = [];
    for (const path of ['/', '/healthz', '/healthz', '/private/x', '/'])
      statuses.push((await ask(`${url}${path}`)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  const shaped = [{ name: 'shaped', algorithm: 'leaky-bucket', limit: 1, window: '10s', burst: 2, delay: 'all' }];

  it('holds back what a policy delays, for as long as it says', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member();
    const running = await gateway({ rules: shaped, gateway: { upstreams: to(one) } }, { clock });
    expect((await ask(running.url)).status).toBe(200);
    const second = ask(running.url);
    const inFlight = 'sluice_gateway_requests_in_flight{route="default"}';
    await waitUntil('it waits', async () => (await metric(running, inFlight)) === 1);
    clock.advance(9_999);
    await ask(`${running.adminUrl}/healthz`);
    expect(one.seen).toHaveLength(1);
    clock.advance(1);
    expect((await second).status).toBe(200);
    expect(one.seen).toHaveLength(2);
    expect(await metric(running, 'sluice_gateway_delayed_requests_total{route="default"}')).toBe(1);
  });

  it('refuses what would be held back for longer than the route allows', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member();
    const { url } = await gateway(
      { rules: shaped, gateway: { routes: [{ name: 'all', maxDelay: '9s' }], upstreams: to(one) } },
      { clock },
    );
    expect([(await ask(url)).status, (await ask(url)).status]).toEqual([200, 429]);
  });

  it('ends the wait of a client that leaves', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member();
    const running = await gateway({ rules: shaped, gateway: { upstreams: to(one) } }, { clock });
    await ask(running.url);
    const client = connect(running.port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const inFlight = 'sluice_gateway_requests_in_flight{route="default"}';
    await waitUntil('it waits', async () => (await metric(running, inFlight)) === 1);
    client.resetAndDestroy();
    await waitUntil('it is gone', async () => (await metric(running, inFlight)) === 0);
    expect(await metric(running, 'sluice_gateway_requests_total{route="default",status="gone"}')).toBe(1);
    clock.advance(60_000);
    expect(one.seen).toHaveLength(1);
  });

  it('gives back what a request held under a concurrency rule when it has ended', async () => {
    const held: (() => void)[] = [];
    const one = await member((_, response) => held.push(() => response.end('done')));
    const { url } = await gateway({
      rules: [{ name: 'at-once', algorithm: 'concurrency', limit: 1 }],
      gateway: { upstreams: to(one) },
    });
    const first = ask(url);
    await waitUntil('it is there', () => held.length === 1);
    expect((await ask(url)).status).toBe(429);
    held[0]!();
    expect((await first).status).toBe(200);
    const again = ask(url);
    await waitUntil('the next is there', () => held.length === 2);
    held[1]!();
    expect((await again).status).toBe(200);
  });

  it('keeps what a stream and an upgraded connection hold under a concurrency rule for as long as they last', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member(
      (request, response) => {
        if (request.url === '/stream') response.writeHead(200).write('first');
        else response.end();
      },
      0,
      (_, socket) => {
        socket.on('end', () => socket.end()).resume();
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
      },
    );
    const running = await gateway(
      {
        rules: [{ name: 'at-once', algorithm: 'concurrency', limit: 2, lease: '10s' }],
        gateway: { upstreams: to(one) },
      },
      { clock },
    );
    const stream = await new Promise<IncomingMessage>((resolve) =>
      get(`${running.url}/stream`, { agent: false }, (response) =>
        resolve(response.on('error', () => undefined).resume()),
      ),
    );
    const tunnel = await new Promise<Duplex>((resolve) =>
      get(running.url, { agent: false, headers: { connection: 'upgrade', upgrade: 'echo' } }).on(
        'upgrade',
        (_, socket) => resolve(socket),
      ),
    );
    for (let i = 0; i < 10; i += 1) {
      clock.advance(5_000);
      await new Promise(setImmediate);
      expect((await ask(running.url)).status).toBe(429);
    }
    tunnel.destroy();
    await waitUntil('its place is free', async () => (await ask(running.url)).status === 200);
    stream.destroy();
    expect(running.said.filter((line) => line.includes('a place'))).toEqual([]);
  });
});

describe('admit', () => {
  it('answers 503 and when to come back where there is no place, and gives places back', async () => {
    const held: (() => void)[] = [];
    const one = await member((_, response) => held.push(() => response.end('done')));
    const running = await gateway({
      gateway: {
        admissions: { main: { concurrency: 1, queue: 0 } },
        routes: [{ name: 'all', admission: 'main' }],
        upstreams: to(one),
      },
    });
    const first = ask(running.url);
    await waitUntil('it is there', () => held.length === 1);
    const refused = await ask(running.url);
    expect([refused.status, problemOf(refused).status]).toEqual([503, 503]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    held[0]!();
    expect((await first).status).toBe(200);
    const again = ask(running.url);
    await waitUntil('the next is there', () => held.length === 2);
    held[1]!();
    expect((await again).status).toBe(200);
    expect(await metric(running, 'sluice_admission_refused_total{admission="main",reason="full"}')).toBe(1);
    expect(await metric(running, 'sluice_admission_in_flight{admission="main"}')).toBe(0);
  });
});

describe('admit, with those who wait', () => {
  const waiting = 'sluice_admission_waiting{admission="main"}';

  async function busy() {
    const held: { url: string; answer(): void }[] = [];
    const one = await member((request, response) => {
      held.push({ url: request.url!, answer: () => response.end() });
    });
    const running = await gateway({
      gateway: {
        admissions: {
          main: {
            concurrency: 1,
            queue: 10,
            queueTimeout: '1m',
            priority: 'header:x-priority',
            priorities: { high: 1 },
          },
        },
        routes: [{ name: 'all', admission: 'main' }],
        upstreams: to(one),
      },
    });
    const first = ask(`${running.url}/first`);
    await waitUntil('it is there', () => held.length === 1);
    return { held, running, first };
  }

  it('lets those in who wait, by what they say of their urgency', async () => {
    const { held, running, first } = await busy();
    const asked: Promise<TestAnswer>[] = [first];
    for (const [i, priority] of ['9', 'nonsense', 'high'].entries()) {
      asked.push(ask(`${running.url}/${priority}`, { headers: { 'x-priority': priority } }));
      await waitUntil('it waits', async () => (await metric(running, waiting)) === i + 1);
    }
    for (let i = 0; i < 4; i += 1) {
      await waitUntil('the next is there', () => held.length === i + 1);
      held[i]!.answer();
    }
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(held.map(({ url }) => url)).toEqual(['/first', '/high', '/nonsense', '/9']);
  });

  it('forgets a client that leaves while it waits', async () => {
    const { held, running, first } = await busy();
    const client = connect(running.port, '127.0.0.1');
    client.write('GET /left HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitUntil('it waits', async () => (await metric(running, waiting)) === 1);
    client.resetAndDestroy();
    await waitUntil('it is gone', async () => (await metric(running, waiting)) === 0);
    held[0]!.answer();
    expect((await first).status).toBe(200);
    expect(held).toHaveLength(1);
    expect(await metric(running, 'sluice_gateway_refused_requests_total{route="all",reason="admission"}')).toBe(0);
    expect(await metric(running, 'sluice_admission_refused_total{admission="main",reason="gone"}')).toBe(1);
  });

  it('keeps those who wait over a reload', async () => {
    const { held, running, first } = await busy();
    const second = ask(`${running.url}/second`);
    await waitUntil('it waits', async () => (await metric(running, waiting)) === 1);
    const other = await member();
    const report = await running.configure({
      gateway: {
        admissions: { main: { concurrency: 2, queue: 5 } },
        routes: [{ name: 'all', admission: 'main' }],
        upstreams: to(other),
      },
    });
    expect(report.isApplied).toBe(true);
    // There are two places now. The second came under the old plan; its upstream has another member since.
    expect((await second).status).toBe(200);
    held[0]!.answer();
    expect((await first).status).toBe(200);
  });
});

describe('balance and break', () => {
  it('shares requests between members', async () => {
    const [one, two] = [await member(), await member()];
    const { url } = await gateway({
      gateway: { upstreams: { app: { members: membersOf(one, two), balancer: 'round-robin' } } },
    });
    const bodies: string[] = [];
    for (let i = 0; i < 6; i += 1) bodies.push((await ask(url)).body);
    expect([one, two].map(({ port }) => bodies.filter((body) => body === String(port)).length)).toEqual([3, 3]);
  });

  it('keeps a client at its member by what the configuration names', async () => {
    const members = [await member(), await member(), await member()];
    const { url } = await gateway({
      gateway: {
        upstreams: { app: { members: membersOf(...members), balancer: 'hash-ring', stickyBy: 'header:x-session' } },
      },
    });
    const seen = new Map<string, Set<string>>();
    for (let i = 0; i < 60; i += 1) {
      const session = `s${i % 20}`;
      const { body } = await ask(url, { headers: { 'x-session': session } });
      seen.set(session, (seen.get(session) ?? new Set()).add(body));
    }
    expect([...seen.values()].every(({ size }) => size === 1)).toBe(true);
    expect(new Set([...seen.values()].flatMap((bodies) => [...bodies])).size).toBe(3);
  });

  it('stops asking a member whose circuit is open, says when to come back, and finds out when it is well', async () => {
    const clock = new TestClock(1_000_000);
    let isWell = false;
    const one = await member((_, response) => response.writeHead(isWell ? 200 : 503).end());
    const running = await gateway(
      {
        gateway: {
          upstreams: {
            app: {
              members: [one.id],
              outliers: false,
              retries: { attempts: 0 },
              breaker: { failureRatio: 0.5, minimumCalls: 3, open: '7s', halfOpenCalls: 1 },
            },
          },
        },
      },
      { clock },
    );
    const state = `sluice_upstream_breaker_state{upstream="app",member="${one.id}"}`;
    for (let i = 0; i < 3; i += 1) expect((await ask(running.url)).status).toBe(503);
    expect(await metric(running, state)).toBe(2);
    clock.advance(100);
    const refused = await ask(running.url);
    expect([refused.status, refused.headers['retry-after'], one.seen.length]).toEqual([503, '7', 3]);
    isWell = true;
    clock.advance(7_000);
    expect((await ask(running.url)).status).toBe(200);
    expect(await metric(running, state)).toBe(0);
  });

  it('warns of nothing where the circuits of many members are open', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => warnings.push(message);
    process.on('warning', onWarning);
    const members = await Promise.all(
      Array.from({ length: 12 }, () => member((_, response) => response.writeHead(503).end())),
    );
    const running = await gateway({
      gateway: {
        upstreams: {
          app: {
            members: members.map(({ id }) => id),
            balancer: 'round-robin',
            outliers: false,
            retries: { attempts: 0 },
            breaker: { minimumCalls: 1, open: '1h' },
          },
        },
      },
    });
    for (const _ of members) await ask(running.url);
    expect(await metric(running, 'sluice_upstream_members{upstream="app"}')).toBe(0);
    // Warnings are told in a turn of their own.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('takes a member out whose answers fail, and asks the other', async () => {
    const bad = await member((_, response) => response.writeHead(500).end());
    const good = await member();
    const running = await gateway({
      gateway: {
        upstreams: {
          app: {
            members: membersOf(bad, good),
            balancer: 'round-robin',
            outliers: { consecutiveFailures: 2, ejection: '1h', longestEjection: '1h' },
          },
        },
      },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push((await ask(running.url)).status);
    expect(statuses.filter((status) => status === 500)).toHaveLength(2);
    expect(await metric(running, `sluice_upstream_member_share{upstream="app",member="${bad.id}"}`)).toBe(0);
    expect(await metric(running, `sluice_upstream_ejections_total{upstream="app",member="${bad.id}"}`)).toBe(1);
    expect(await metric(running, 'sluice_upstream_members{upstream="app"}')).toBe(1);
  });

  it('takes a member out that does not pass its checks', async () => {
    let isWell = true;
    const one = await member((request, response) => {
      if (request.url === '/healthz') response.writeHead(isWell ? 200 : 500);
      response.end('one');
    });
    const two = await member();
    const running = await gateway({
      gateway: {
        upstreams: {
          app: {
            members: membersOf(one, two),
            balancer: 'round-robin',
            health: { path: '/healthz', interval: '20ms', unhealthyAfter: 2, healthyAfter: 1 },
          },
        },
      },
    });
    const share = `sluice_upstream_member_share{upstream="app",member="${one.id}"}`;
    isWell = false;
    await waitUntil('it is out', async () => (await metric(running, share)) === 0);
    const bodies = [await ask(running.url), await ask(running.url), await ask(running.url)];
    expect(bodies.map(({ body }) => body)).toEqual(Array(3).fill(String(two.port)));
    isWell = true;
    await waitUntil('it is back', async () => (await metric(running, share)) === 1);
  });
});

describe('forward', () => {
  it('sends a request on and its answer back', async () => {
    const one = await member((request, response, body) => {
      response.writeHead(201, { 'x-own': 'yes' }).end(`${request.method} ${request.url} ${body}`);
    });
    const { url } = await gateway({ gateway: { upstreams: to(one) } });
    const answer = await ask(`${url}/a/b?c=d`, { method: 'POST', body: 'hello' });
    expect([answer.status, answer.body, answer.headers['x-own']]).toEqual([201, 'POST /a/b?c=d hello', 'yes']);
    expect(answer.headers.via).toBe('1.1 sluice');
  });

  it('tells the member who asked, and believes nobody else about it', async () => {
    const one = await member();
    const { url, port } = await gateway({ gateway: { upstreams: to(one) } });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await ask(url, {
      headers: {
        host: 'shop.example',
        via: '1.0 other',
        traceparent,
        forwarded: 'for=10.0.0.1',
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-prefix': '/evil',
        'x-real-ip': '10.0.0.1',
        x_forwarded_for: '10.0.0.1',
      },
    });
    const { headers } = one.seen[0]!;
    expect(headers).toMatchObject({
      host: 'shop.example',
      via: '1.0 other, 1.1 sluice',
      traceparent,
      forwarded: 'for=127.0.0.1;proto=http;host=shop.example',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'shop.example',
    });
    for (const name of ['x-forwarded-prefix', 'x-real-ip', 'x_forwarded_for']) expect(headers).not.toHaveProperty(name);
    await ask(url);
    expect(one.seen[1]!.headers.forwarded).toBe(`for=127.0.0.1;proto=http;host="127.0.0.1:${port}"`);
  });

  it('adds to what a trusted proxy says', async () => {
    const one = await member();
    const { url } = await gateway({
      rules: [{ name: 'per-ip', key: 'ip', algorithm: 'fixed-window', limit: 1, window: '1h' }],
      gateway: { trustProxy: ['loopback'], upstreams: to(one) },
    });
    const through = (address: string) =>
      ask(url, {
        headers: {
          host: 'inner',
          forwarded: `for=${address};proto=https`,
          'x-forwarded-for': address,
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'shop.example',
          'x-forwarded-prefix': '/shop',
          'x-real-ip': address,
        },
      });
    expect((await through('203.0.113.9')).status).toBe(200);
    expect((await through('203.0.113.9')).status).toBe(429);
    expect((await through('203.0.113.10')).status).toBe(200);
    expect(one.seen[0]!.headers).toMatchObject({
      forwarded: 'for=203.0.113.9;proto=https, for=127.0.0.1;proto=http;host=inner',
      'x-forwarded-for': '203.0.113.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-prefix': '/shop',
      'x-real-ip': '203.0.113.9',
    });
  });

  it('asks the member by its own name where the configuration says so', async () => {
    const one = await member();
    const { url } = await gateway({ gateway: { upstreams: { app: { members: [one.id], host: 'member' } } } });
    await ask(url, { headers: { host: 'shop.example' } });
    expect(one.seen[0]!.headers).toMatchObject({ host: one.id, 'x-forwarded-host': 'shop.example' });
  });

  it('asks another member where one cannot be reached', async () => {
    const [one, gone] = [await member(), await member()];
    await gone.stop();
    const running = await gateway({
      gateway: { upstreams: { app: { members: membersOf(gone, one), balancer: 'round-robin', outliers: false } } },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1)
      statuses.push((await ask(running.url, { method: i % 2 === 0 ? 'GET' : 'POST', body: 'x'.repeat(i) })).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(await metric(running, 'sluice_upstream_retries_total{upstream="app",result="made"}')).toBeGreaterThan(0);
    const failures = `sluice_upstream_failures_total{upstream="app",member="${gone.id}",reason="connect"}`;
    expect(await metric(running, failures)).toBeGreaterThan(0);
  });

  it('sends a body again that was kept', async () => {
    const broken = await member((request) => request.socket.destroy());
    const one = await member((_, response, body) => response.end(body));
    const { url } = await gateway({
      gateway: { upstreams: { app: { members: membersOf(broken, one), balancer: 'round-robin', outliers: false } } },
    });
    for (let i = 0; i < 2; i += 1) expect((await ask(url, { method: 'PUT', body: 'the body' })).body).toBe('the body');
    expect(broken.seen.length).toBeGreaterThan(0);
  });

  it('does not send again what may have been done already', async () => {
    const broken = await member((request) => request.socket.destroy());
    const { url } = await gateway({
      gateway: { upstreams: { app: { members: [broken.id], outliers: false, retries: { attempts: 3 } } } },
    });
    const answer = await ask(url, { method: 'POST', body: 'pay' });
    expect([answer.status, problemOf(answer).status, broken.seen.length]).toEqual([502, 502, 1]);
    expect((await ask(url)).status).toBe(502);
    expect(broken.seen.length).toBe(5);
  });

  const unwell: [status: number, method: string, seen: number][] = [
    [503, 'GET', 200],
    [502, 'PUT', 200],
    [503, 'POST', 503],
    [500, 'GET', 500],
  ];
  it.each(unwell)('an answer of %i to %s becomes %i', async (status, method, expected) => {
    let isFirst = true;
    const handle = (_: unknown, response: import('node:http').ServerResponse) => {
      response.writeHead(isFirst ? status : 200).end();
      isFirst = false;
    };
    const { url } = await gateway({ gateway: { upstreams: to(await member(handle), await member(handle)) } });
    expect((await ask(url, { method })).status).toBe(expected);
  });

  it('passes on the last answer where no attempt is left', async () => {
    const one = await member((_, response) => response.writeHead(503, { 'x-own': 'yes' }).end('sorry'));
    const { url } = await gateway({
      gateway: { upstreams: { app: { members: [one.id], retries: { attempts: 2 }, outliers: false } } },
    });
    const answer = await ask(url);
    expect([answer.status, answer.body, answer.headers['x-own'], one.seen.length]).toEqual([503, 'sorry', 'yes', 3]);
  });

  it('retries no more than its budget', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member((_, response) => response.writeHead(503).end());
    const running = await gateway(
      {
        gateway: {
          upstreams: { app: { members: [one.id], outliers: false, retries: { attempts: 1, budget: 0.1 } } },
        },
      },
      { clock },
    );
    for (let i = 0; i < 40; i += 1) await ask(running.url);
    // One for each ten of 40 requests, and one for each of the ten seconds that count.
    expect(one.seen).toHaveLength(40 + 14);
    expect(await metric(running, 'sluice_upstream_retries_total{upstream="app",result="made"}')).toBe(14);
    expect(await metric(running, 'sluice_upstream_retries_total{upstream="app",result="refused"}')).toBe(26);
  });

  it('answers 504 where a member does not answer in time', async () => {
    const one = await member(() => undefined);
    const { url } = await gateway({
      gateway: {
        upstreams: { app: { members: [one.id], timeouts: { response: '50ms' }, retries: { attempts: 0 } } },
      },
    });
    const answer = await ask(url);
    expect([answer.status, problemOf(answer).status]).toEqual([504, 504]);
  });
});

/** A target as it is, where a client of `node:http` would tidy it up. */
async function raw(url: string, target: string): Promise<TestAnswer> {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asked = request({ hostname, port, path: target, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body: '' }));
    });
    asked.on('error', reject);
    asked.end();
  });
}
