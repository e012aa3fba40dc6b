// Those who watch a running service: what they are sent, when, and what they cost.
import { waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answeringLater, type Opened, type OpenOptions, open, RawClient } from './http-door.test-support.ts';
import { type Watcher, watch } from './live.test-support.ts';

let opened: Opened;
const watchers: Watcher[] = [];

async function reopen(options: OpenOptions, wrap?: Parameters<typeof open>[1]): Promise<void> {
  await opened?.close();
  opened = await open(options, wrap);
}

async function watched(headers?: Record<string, string>): Promise<Watcher> {
  const watcher = await watch(opened.port, headers);
  watchers.push(watcher);
  return watcher;
}

/** The next second begins: whoever sleeps until then wakes. */
async function nextSecond(): Promise<void> {
  await waitUntil('somebody waits for the next second', () => opened.clock.sleeping === 1);
  opened.clock.advance(1000);
}

beforeEach(async () => {
  opened = await open();
});
afterEach(async () => {
  for (const watcher of watchers.splice(0)) watcher.leave();
  await opened.close();
});

const check = (user: string) => opened.ask('POST', '/v1/check', { subject: { user } });
const request = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: a', ...headers].join('\r\n')}\r\n\r\n`;

describe('GET /v1/status', () => {
  it('says what was counted, by rule and outcome, and who was refused', async () => {
    for (let i = 0; i < 5; i += 1) await check('ann');
    const { status, json } = await opened.ask('GET', '/v1/status');
    expect(status).toBe(200);
    expect(json).toMatchObject({ kind: 'service', isReady: true, notReadyBecause: null, cluster: null, upstreams: [] });
    expect(json.rules).toEqual([
      { name: 'per-user', isConfigured: true, allowed: 2, refused: 3, shadowRefused: 0, errors: 0 },
      { name: 'per-ip', isConfigured: true, allowed: 0, refused: 0, shadowRefused: 0, errors: 0 },
      expect.objectContaining({ name: 'watched', isConfigured: true, allowed: 1, refused: 0, shadowRefused: 4 }),
      expect.objectContaining({ name: 'cl.throttle', isConfigured: false }),
      expect.objectContaining({ name: 'ad-hoc', isConfigured: false }),
      expect.objectContaining({ name: 'envoy', isConfigured: false }),
      expect.objectContaining({ name: 'deny-list', isConfigured: false }),
    ]);
    expect(json.topRefused).toEqual([{ rule: 'per-user', key: 'ann', refusals: 3, error: 0 }]);
    expect(json.revision).toEqual({ rules: 0, overrides: 0 });
    const { boundsMs, counts, sumMs } = json.durations;
    expect(counts).toHaveLength(boundsMs.length + 1);
    expect(counts.reduce((sum: number, one: number) => sum + one)).toBe(5);
    expect(sumMs).toBeGreaterThan(0);
  });
});

describe('GET /v1/live', () => {
  it('sends a snapshot at once, and one each second, which grow with the traffic', async () => {
    const watcher = await watched();
    expect(watcher.response.headers.get('content-type')).toBe('text/event-stream');
    expect(watcher.response.headers.get('cache-control')).toBe('no-store');
    const first = await watcher.next();
    expect(first).toMatchObject({ id: '1', event: 'snapshot', retry: '1000' });
    expect(JSON.parse(first.data).rules[0]).toMatchObject({ name: 'per-user', allowed: 0 });
    for (const allowed of [1, 2]) {
      await check('bob');
      await nextSecond();
      const { id, data } = await watcher.next();
      expect([id, JSON.parse(data).rules[0].allowed]).toEqual([String(allowed + 1), allowed]);
    }
  });

  it('makes one snapshot a second for all who watch, and none for nobody', async () => {
    let collections = 0;
    await reopen({}, (service) => ({
      ...service,
      status() {
        collections += 1;
        return service.status();
      },
    }));
    const [ann, bob] = [await watched(), await watched()];
    expect(await bob.next()).toEqual(await ann.next());
    await nextSecond();
    expect(await ann.next()).toEqual(await bob.next());
    expect(collections).toBe(2);
    ann.leave();
    await nextSecond();
    expect((await bob.next()).id).toBe('3');
    bob.leave();
    await waitUntil('nobody waits for the next second', () => opened.clock.sleeping === 0);
    opened.clock.advance(10_000);
    expect(collections).toBe(3);
    const carol = await watched();
    expect((await carol.next()).id).toBe('4');
  });

  it('is the same over a service that answers later', async () => {
    await reopen({}, answeringLater);
    const watcher = await watched();
    expect((await watcher.nextSnapshot()).rules[0]?.allowed).toBe(0);
    await check('ann');
    await nextSecond();
    expect((await watcher.nextSnapshot()).rules[0]?.allowed).toBe(1);
  });

  it('passes over whoever reads slowly, who never has more than one snapshot waiting', async () => {
    // Large enough that the kernel does not take many for somebody who does not read.
    const blown = 'x'.repeat(1_000_000);
    await reopen({}, (service) => ({
      ...service,
      status: async () => ({ ...(await service.status()), version: blown }),
    }));
    const sockets: { readonly writableLength: number }[] = [];
    opened.door.server.on('connection', (socket) => sockets.push(socket));
    const slow = new RawClient(opened.port);
    await slow.send(request('/v1/live'));
    slow.socket.pause();
    await waitUntil('it is connected', () => sockets.length === 1);
    let mostWaiting = 0;
    // Not so long that it would be taken for somebody who does not read at all.
    for (let i = 0; i < 10; i += 1) {
      await nextSecond();
      mostWaiting = Math.max(mostWaiting, sockets[0]!.writableLength);
    }
    expect(mostWaiting).toBeGreaterThan(0);
    expect(mostWaiting).toBeLessThan(100_000);
    // Who reads well meanwhile is sent the newest.
    const quick = await watched();
    const { id } = await quick.next();
    expect(Number(id)).toBeGreaterThanOrEqual(10);
    // And so is the slow one once it reads on: what it missed is not sent after.
    let ids: string[] = [];
    let read = '';
    slow.socket.on('data', (bytes) => {
      read += bytes.toString('latin1');
      ids = [...read.matchAll(/^id: (\d+)\n/gm)].map((match) => match[1] as string);
    });
    slow.socket.resume();
    await waitUntil('the slow one has the newest', () => Number(ids.at(-1)) >= Number(id));
    expect(ids.length).toBeLessThan(10);
    slow.close();
  });

  it('ends for whoever takes nothing of it for 15 seconds, which makes room for another one', async () => {
    // More at first than the kernel takes for somebody who does not read.
    let blown = 'x'.repeat(20_000_000);
    await reopen({ limits: { connections: 4, idleMs: 300_000 } }, (service) => ({
      ...service,
      async status() {
        const version = blown;
        blown = '';
        return { ...(await service.status()), version };
      },
    }));
    const sockets: { readonly writableLength: number }[] = [];
    opened.door.server.on('connection', (socket) => sockets.push(socket));
    const hung = new RawClient(opened.port);
    hung.socket.pause();
    await hung.send(request('/v1/live'));
    await waitUntil('it takes nothing more', () => (sockets[0]?.writableLength ?? 0) > 0);
    for (let i = 0; i < 14; i += 1) await nextSecond();
    expect((await opened.ask('GET', '/v1/live')).status).toBe(503);
    await nextSecond();
    await waitUntil('it is ended', () => opened.clock.sleeping === 0);
    expect((await (await watched()).next()).event).toBe('snapshot');
    hung.close();
  });

  it('has room for so many, and says so to the next', async () => {
    await reopen({ limits: { connections: 16 } });
    const first = await Promise.all(Array.from({ length: 4 }, () => watched()));
    const { status, headers, json } = await opened.ask('GET', '/v1/live');
    expect([status, headers.get('retry-after'), json.detail]).toEqual([
      503,
      '1',
      '4 others are watching already, which is the most of one door. Close a page, or ask again.',
    ]);
    first[0]?.leave();
    await waitUntil('there is room again', async () => {
      try {
        await watched();
        return true;
      } catch {
        return false;
      }
    });
  });

  it('gives a connection one stream, however many it asks for', async () => {
    const client = new RawClient(opened.port);
    await client.send(request('/v1/live').repeat(20));
    await waitUntil('the others are refused', () => opened.meter.requests === 20);
    const watcher = await watched();
    expect((await watcher.next()).event).toBe('snapshot');
    watcher.leave();
    client.close();
    await client.closed;
    await waitUntil('nobody waits for the next second', () => opened.clock.sleeping === 0);
  });

  it('costs nothing any more when somebody leaves before the stream had its turn on the connection', async () => {
    await reopen({ instead: { topRefused: () => new Promise(() => {}) } });
    const client = new RawClient(opened.port);
    await client.send(request('/v1/refused') + request('/v1/live'));
    await waitUntil('it is being told', () => opened.clock.sleeping === 1);
    client.close();
    await waitUntil('nobody waits for the next second', () => opened.clock.sleeping === 0);
  });

  it('is not ended by the silence between requests, nor kept alive by it', async () => {
    await reopen({ limits: { idleMs: 60, requestMs: 60 } });
    const watcher = await watched();
    await watcher.next();
    const idle = new RawClient(opened.port);
    await idle.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    // Each of these lasts longer than the silence that others are allowed.
    for (let i = 0; i < 3; i += 1) {
      const other = new RawClient(opened.port);
      await other.closed;
      await nextSecond();
      expect((await watcher.next()).event).toBe('snapshot');
    }
    await idle.closed;
  });

  it('ends at once when the service ends, and is not to be had any more', async () => {
    const watcher = await watched();
    await watcher.next();
    const late = new RawClient(opened.port);
    await waitUntil('both are connected', () => opened.meter.connections === 2);
    const drained = opened.door.drain(60_000);
    await watcher.ended();
    await late.send(request('/v1/live'));
    expect(await late.response()).toMatchObject({ status: 503, headers: { connection: 'close' } });
    await drained;
    expect(opened.clock.sleeping).toBe(0);
  });

  it('does not hold the end of the service up for somebody who does not read', async () => {
    await reopen({}, (service) => ({
      ...service,
      status: async () => ({ ...(await service.status()), version: 'x'.repeat(20_000_000) }),
    }));
    const slow = new RawClient(opened.port);
    await slow.send(request('/v1/live'));
    slow.socket.pause();
    await waitUntil('it is being told', () => opened.clock.sleeping === 1);
    await opened.door.drain(60_000);
    expect(opened.meter.connections).toBe(0);
  });

  it('needs a token where there are some, and ends when that one is no longer good', async () => {
    await reopen({ tokens: ['secret'] });
    expect((await opened.ask('GET', '/v1/live')).status).toBe(401);
    expect((await opened.ask('GET', '/v1/status')).status).toBe(401);
    const watcher = await watched({ Authorization: 'Bearer secret' });
    await watcher.next();
    opened.tokens.set(['other']);
    await nextSecond();
    await watcher.ended();
    expect(opened.clock.sleeping).toBe(0);
  });

  it('tells its head alone, and which methods there are', async () => {
    const head = await opened.ask('HEAD', '/v1/live');
    expect([head.status, head.type, head.text]).toEqual([200, 'text/event-stream', '']);
    const asked = await opened.ask('OPTIONS', '/v1/live');
    expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect((await opened.ask('POST', '/v1/live')).status).toBe(405);
    expect(opened.clock.sleeping).toBe(0);
  });

  it('speaks with a client of HTTP/1.0, whose answer ends with the connection', async () => {
    const client = new RawClient(opened.port);
    let read = '';
    client.socket.on('data', (bytes) => {
      read += bytes.toString();
    });
    await client.send('GET /v1/live HTTP/1.0\r\n\r\n');
    await waitUntil('an event came', () => read.includes('\n\n'));
    expect(read).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(read).not.toMatch(/chunked/i);
    expect(read).toMatch(/\r\n\r\nid: 1\nevent: snapshot\nretry: 1000\ndata: \{.*\}\n\n$/);
    client.close();
  });

  it('ends, and says so in the log, where no snapshot can be made', async () => {
    await reopen({ instead: { status: () => Promise.reject(new Error('the thread is gone')) } });
    const watcher = await watched();
    await watcher.ended();
    expect(opened.errors).toMatchObject([{ err: { message: 'the thread is gone' } }]);
  });

  it('is not on a door that has checks only', async () => {
    await reopen({ serves: 'checks' });
    for (const path of ['/v1/live', '/v1/status']) expect((await opened.ask('GET', path)).status).toBe(404);
    await reopen({ serves: 'administration' });
    expect((await (await watched()).next()).event).toBe('snapshot');
  });
});
