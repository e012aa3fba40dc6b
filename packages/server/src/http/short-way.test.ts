// The two ways of a check have to give the same answers: a whole request goes the short way, one in two packets goes through node:http.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import {
  answeringLater,
  checkBytes,
  limits,
  type OpenOptions,
  open,
  RawClient,
  type RawResponse,
} from './http-door.test-support.ts';

const user = (name: string) => ({ subject: { user: name, ip: '203.0.113.9' } });

async function answers(parts: readonly string[][], options: OpenOptions = {}, isLater = false): Promise<RawResponse[]> {
  const opened = await open(options, isLater ? answeringLater : undefined);
  const client = new RawClient(opened.port);
  const list: RawResponse[] = [];
  for (const part of parts) {
    await client.send(...part);
    list.push((await client.response()) as RawResponse);
  }
  client.close();
  await opened.close();
  // The wall clock goes on between the two ways.
  return list.map(({ headers: { date, 'x-ratelimit-reset': reset, ...headers }, ...rest }) => {
    return { ...rest, headers, hasDate: date !== undefined, hasReset: reset !== undefined };
  });
}

const whole = (bytes: string): string[] => [bytes];
const inTwo = (bytes: string): string[] => [bytes.slice(0, -3), bytes.slice(-3)];

describe('the short way', () => {
  const requests = [
    checkBytes(user('ann')),
    checkBytes(user('ann')),
    checkBytes(user('ann')),
    checkBytes({ policy: { algorithm: 'gcra', limit: 1, window: '1m' }, key: 'ü' }),
    checkBytes({ policy: { algorithm: 'gcra', limit: 1, window: '1m' }, key: 'k', cost: 5 }),
    checkBytes({ subject: { user: 'é' }, 'é\u{1f6b0}': 1 }),
    checkBytes('{"subject":{}'),
    checkBytes('{"subject":{"user":"\xff\xfe"}}'),
    checkBytes({ subject: {} }, ['User-Agent: test', 'X-Anything: at all']),
    checkBytes({ subject: {} }, ['Authorization: Bearer x']),
  ];

  it.each([false, true])('answers as node:http does (from a service that answers later: %s)', async (isLater) => {
    const [short, long] = [
      await answers(requests.map(whole), {}, isLater),
      await answers(requests.map(inTwo), {}, isLater),
    ];
    expect(short).toEqual(long);
    expect(short.map(({ status }) => status)).toEqual([200, 200, 429, 200, 429, 400, 400, 400, 200, 200]);
    expect(short[0]?.headers).toMatchObject({ connection: 'keep-alive', 'keep-alive': 'timeout=60' });
  });

  it('asks for the token as node:http does', async () => {
    const list = [
      checkBytes({ subject: {} }),
      checkBytes({ subject: {} }, ['Authorization: Bearer no']),
      checkBytes({ subject: {} }, ['Authorization: Bearer yes']),
    ];
    const options = { tokens: ['yes'] };
    const short = await answers(list.map(whole), options);
    expect(short).toEqual(await answers(list.map(inTwo), options));
    expect(short.map(({ status }) => status)).toEqual([401, 401, 200]);
  });

  it('hands a connection over with the first bytes that are no whole check, and loses none', async () => {
    const get = 'GET /healthz HTTP/1.1\r\nHost: sluice\r\n\r\n';
    const check = checkBytes(user('ann'));
    const cases: [string, string[], number[]][] = [
      ['another request', [check, get, check], [200, 200, 200]],
      ['another request in the same packet', [check + get + check], [200, 200, 200]],
      ['half a head', [check + check.slice(0, 10), check.slice(10)], [200, 200]],
      ['half a request line first', ['P', check.slice(1), check], [200, 200]],
      ['a body byte by byte', [check.slice(0, -2), check.slice(-2, -1), check.slice(-1)], [200]],
      ['no HTTP at all', [check, 'hello\r\n\r\n'], [200, 400]],
    ];
    for (const [name, parts, statuses] of cases) {
      const opened = await open();
      const client = new RawClient(opened.port);
      await client.send(...parts);
      const got: (number | undefined)[] = [];
      for (const _ of statuses) got.push((await client.response())?.status);
      expect(got, name).toEqual(statuses);
      client.close();
      await opened.close();
    }
  });

  it.each([false, true])('answers what comes in one packet in its order (later: %s)', async (isLater) => {
    const opened = await open({}, isLater ? answeringLater : undefined);
    const client = new RawClient(opened.port);
    const many = Array.from({ length: 50 }, (_, i) =>
      checkBytes({ policy: { algorithm: 'gcra', limit: 100, window: '1m' }, key: 'k', cost: i % 2 }),
    );
    await client.send(many.join(''));
    const remaining: number[] = [];
    for (const _ of many) remaining.push(JSON.parse((await client.response())?.body ?? '{}').remaining);
    expect(remaining).toEqual(many.map((_, i) => 100 - Math.ceil(i / 2)));
    expect(opened.meter.requests).toBe(50);
    client.close();
    await opened.close();
  });

  it('answers a client that has closed its half', async () => {
    for (const isLater of [false, true]) {
      const opened = await open({}, isLater ? answeringLater : undefined);
      const client = new RawClient(opened.port);
      client.socket.end(checkBytes(user('ann')));
      expect((await client.response())?.status).toBe(200);
      await client.closed;
      await opened.close();
    }
  });

  it('leaves a body that is too long to node:http', async () => {
    const opened = await open();
    const client = new RawClient(opened.port);
    await client.send(checkBytes(JSON.stringify({ subject: {} }).padEnd(limits.bodyBytes + 1, ' ')));
    expect((await client.response())?.status).toBe(413);
    await client.send(checkBytes(user('ann')));
    expect((await client.response())?.status).toBe(200);
    client.close();
    await opened.close();
  });

  it('does not read on where answers that come later are not read either', async () => {
    const opened = await open({}, answeringLater);
    const accepted = once(opened.door.server, 'connection');
    const client = new RawClient(opened.port);
    const [socket] = (await accepted) as [Socket];
    // As if the client read nothing, whatever the kernel would hold for it.
    socket.cork();
    const many = Array.from({ length: 300 });
    // Few enough to be read at once: a request in two pieces is for node:http.
    await client.send(checkBytes(user('ann')).repeat(many.length));
    await waitUntil('no more is taken', () => socket.writableNeedDrain);
    for (const _ of many) await new Promise((resolve) => setImmediate(resolve));
    expect(opened.meter.requests).toBeLessThan(many.length);
    socket.uncork();
    for (const _ of many) expect((await client.response())?.status).toBeOneOf([200, 429]);
    expect(opened.meter.requests).toBe(many.length);
    client.close();
    await opened.close();
  });

  it('does not read on from a client that does not read its answers', async () => {
    const opened = await open();
    const client = new RawClient(opened.port);
    client.socket.pause();
    const packet = checkBytes(user('ann')).repeat(400);
    let wasFull = false;
    // It would take all of this, and hold ten times as much in answers, if it read on.
    for (let i = 0; i < 2000 && !wasFull; i += 1) {
      if (client.socket.write(packet)) continue;
      wasFull = await new Promise((resolve) => {
        const timer = setTimeout(() => resolve(true), 500);
        client.socket.once('drain', () => {
          clearTimeout(timer);
          resolve(false);
        });
      });
    }
    expect(wasFull).toBe(true);
    const other = await opened.ask('POST', '/v1/check', user('bob'));
    expect(other.status).toBe(200);
    client.close();
    await opened.close();
  });
});
