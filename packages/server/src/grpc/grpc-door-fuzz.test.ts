// Whatever comes in, the door answers the next client, and keeps no memory of it. PROPERTY_SEED takes another seed.
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { seededRandom, TestClock } from 'sluice/testing';
import { afterAll, beforeEach, expect, inject, test, vi } from 'vitest';
import {
  frame,
  GrpcClient,
  healthCheckMethod,
  LimitingService,
  type OpenDoor,
  openDoor,
  rawCall,
  request,
  shouldRateLimitMethod,
} from './grpc-door.test-support.ts';

// Thousands of inputs each: beside others, they take more than the usual minute.
vi.setConfig({ testTimeout: 300_000 });

let inputs = 0;
afterAll(() => console.log(`gRPC door: ${inputs.toLocaleString('en')} bad inputs tried`));

let draw: () => number;
beforeEach(() => {
  draw = seededRandom(inject('propertySeed'));
});
const random = (below: number): number => Math.floor(draw() * below);
const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
const randomBytes = (length: number) => Buffer.from(Array.from({ length }, () => random(256)));

const valid = shouldRateLimitMethod.requestSerialize({
  domain: 'shop',
  hitsAddend: 3,
  descriptors: [
    {
      entries: [{ key: 'größe', value: '🚦\0' }],
      limit: { requestsPerUnit: 300, unit: 'HOUR' },
      hitsAddend: { value: '7' },
    },
    {
      entries: [
        { key: 'a', value: 'b' },
        { key: 'c', value: 'd'.repeat(200) },
      ],
      isNegativeHits: true,
    },
  ],
});

function mutated(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let times = 1 + random(4); times > 0; times--) copy[random(copy.length)] = random(256);
  return copy;
}

/** A field that says it is longer than anything, or nests without end, or is of another type than its own. */
function hostileMessage(): Buffer {
  switch (random(8)) {
    case 0:
      return randomBytes(random(300));
    case 1:
      return mutated(valid);
    case 2:
      return valid.subarray(0, random(valid.length));
    case 3:
      return Buffer.concat([Buffer.of(0x0a), Buffer.alloc(random(12), 0xff), randomBytes(random(20))]);
    case 4:
      return Buffer.alloc(1 + random(5000), pick([0x2b, 0x0b, 0x33]));
    case 5:
      return Buffer.concat(Array.from({ length: random(2000) }, () => Buffer.from('1200', 'hex')));
    case 6:
      // Descriptors in descriptors in descriptors: a Struct would nest like this.
      return nested(random(60));
    default:
      return Buffer.concat([Buffer.of(((1 + random(15)) << 3) | random(8)), randomBytes(random(40)), valid]);
  }
}

function nested(depth: number): Buffer {
  let message = Buffer.from('0a0161', 'hex');
  for (let level = 0; level < depth && message.length < 120; level++) {
    message = Buffer.concat([Buffer.of(pick([0x12, 0x0a]), message.length), message]);
  }
  return message;
}

function hostileBody(): Buffer {
  const message = hostileMessage();
  switch (random(7)) {
    case 0:
      return randomBytes(random(40));
    case 1:
      return frame(message, random(256));
    case 2:
      return Buffer.concat([Buffer.of(0), randomBytes(4), message]);
    case 3:
      return frame(message).subarray(0, random(message.length + 5));
    case 4:
      return Buffer.concat([frame(message), randomBytes(random(9))]);
    case 5:
      return frame(mutated(gzipSync(message)), 1);
    default:
      return frame(message);
  }
}

const paths = [
  shouldRateLimitMethod.path,
  shouldRateLimitMethod.path,
  healthCheckMethod.path,
  '/',
  '/a/b',
  `/${'x'.repeat(5000)}`,
];
const timeouts = ['20m', '99999999H', '0n', '1S1', '', '-1m', '9'.repeat(300), '\x7f'];

function hostileHeaders(): Record<string, string> {
  return {
    ':path': pick(paths),
    ':method': random(20) === 0 ? pick(['GET', 'PUT', 'TRACE', 'OPTIONS']) : 'POST',
    'content-type': random(20) === 0 ? pick(['', 'text/html', 'application/grpc+thrift']) : 'application/grpc',
    ...(random(4) === 0 && { 'grpc-timeout': pick(timeouts) }),
    ...(random(4) === 0 && { 'grpc-encoding': pick(['gzip', 'identity', 'br', '', 'gzip,gzip']) }),
    ...(random(8) === 0 && { authorization: `Bearer ${'t'.repeat(random(2000))}` }),
    ...(random(8) === 0 && { 'x-bin': randomBytes(random(100)).toString('base64') }),
  };
}

async function expectServed({ address }: OpenDoor, round: number): Promise<void> {
  const client = new GrpcClient(address, undefined, { 'grpc.use_local_subchannel_pool': 1 });
  const reply = await client.shouldRateLimit(request('honest', String(round)));
  expect(reply).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 2 }] });
  client.close();
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Megabytes that are in use after everything that can be forgotten was. */
async function megabytesInUse(): Promise<number> {
  for (let times = 0; times < 3; times++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return (heapUsed + external + arrayBuffers) / 1e6;
}

test('calls with hostile headers and bodies', async () => {
  const opened = await openDoor(new LimitingService());
  const statuses = new Map<string, number>();
  let startMegabytes = 0;
  for (let round = 0; round < 40; round++) {
    const session = connectHttp2(`http://${opened.address}`);
    session.on('error', () => undefined);
    const calls = Array.from({ length: 500 }, () => hostileCall(session));
    for (const status of await Promise.all(calls)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    inputs += calls.length;
    session.destroy();
    await expectServed(opened, round);
    // The first rounds warm everything up.
    if (round === 9) startMegabytes = await megabytesInUse();
  }
  expect((await megabytesInUse()) - startMegabytes).toBeLessThan(20);
  expect(opened.log.filter(({ level }) => level === 'error')).toEqual([]);
  // Every kind of answer was met, and never UNKNOWN (2).
  expect([...statuses.keys()].sort()).toEqual(
    expect.arrayContaining([
      'http 405',
      'http 415',
      'status 0',
      'status 12',
      'status 13',
      'status 3',
      'status 4',
      'status 8',
    ]),
  );
  expect(statuses.has('status 2')).toBe(false);
});

async function hostileCall(session: ClientHttp2Session): Promise<string> {
  const body = hostileBody();
  const cut = random(body.length + 1);
  const pieces = random(3) === 0 ? [body.subarray(0, cut), body.subarray(cut)] : [body];
  const reply = await rawCall(session, { headers: hostileHeaders(), pieces });
  if (reply.status !== undefined) return `status ${reply.status}`;
  return reply.httpStatus === 0 ? `reset ${reply.resetCode}` : `http ${reply.httpStatus}`;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

function http2Frame(type: number, flags: number, stream: number, payload: Buffer, length = payload.length): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

const settingsFrame = http2Frame(4, 0, 0, Buffer.alloc(0));

function hostileConversation(recorded: Buffer): Buffer {
  const frames = () =>
    Array.from({ length: 1 + random(6) }, () =>
      http2Frame(
        random(11),
        random(256),
        random(8),
        randomBytes(random(60)),
        pick([undefined, undefined, random(2 ** 24)]),
      ),
    );
  switch (random(6)) {
    case 0:
      return randomBytes(1 + random(500));
    case 1:
      return Buffer.concat([preface, randomBytes(random(500))]);
    case 2:
      return Buffer.concat([preface, settingsFrame, ...frames()]);
    case 3:
      return recorded.subarray(0, random(recorded.length));
    case 4:
      return mutated(recorded);
    default:
      return Buffer.concat([preface, settingsFrame, recorded.subarray(preface.length + random(60)), ...frames()]);
  }
}

test('connections with hostile frames and bytes', async () => {
  const clock = new TestClock(0);
  const opened = await openDoor(new LimitingService(), { options: { clock }, limits: { requestMs: 1000 } });
  const { meter } = opened.settings;
  const recorded = await recordedConversation(opened.port);
  let startMegabytes = 0;
  for (let round = 0; round < 50; round++) {
    const batch = Array.from({ length: 100 }, () => hostileConversation(recorded));
    for (const bytes of batch) say(opened.port, bytes);
    inputs += batch.length;
    // What broke the protocol is gone at once, the others when they do not answer a PING.
    await vi.waitFor(
      () => {
        clock.advance(250);
        expect(meter.connections).toBe(0);
      },
      { timeout: 20_000, interval: 1 },
    );
    await expectServed(opened, round);
    if (round === 9) startMegabytes = await megabytesInUse();
  }
  expect((await megabytesInUse()) - startMegabytes).toBeLessThan(20);
  expect(opened.log.filter(({ level }) => level === 'error')).toEqual([]);
});

/** Says it; half of them hang up then, the others wait for the door to. */
function say(port: number, bytes: Buffer): void {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.resume();
  if (random(2) === 0) socket.end(bytes);
  else socket.write(bytes);
}

/** What a real client sends, from its first byte on. */
async function recordedConversation(port: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const recorder = createServer((client) => {
    const door = connect(port, '127.0.0.1');
    client.on('data', (chunk) => chunks.push(chunk));
    client.on('error', () => undefined).on('close', () => door.destroy());
    client.pipe(door).pipe(client);
  });
  await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve));
  const client = new GrpcClient(`127.0.0.1:${(recorder.address() as { port: number }).port}`);
  for (let call = 0; call < 3; call++) await client.shouldRateLimit(request('recorded', 'x'));
  client.close();
  recorder.close();
  return Buffer.concat(chunks);
}
