// A client that speaks plain HTTP/2 and says what a gRPC client would not.
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startFaultProxy } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  closed,
  frame,
  GrpcClient,
  healthCheckMethod,
  LimitingService,
  openDoor,
  rawCall,
  rawClient,
  request,
  shouldRateLimitMethod,
} from './grpc-door.test-support.ts';
import { fieldBlock } from './http2/field-block.ts';
import { clientPreface, frameFlags, frameTypes } from './http2/frame.ts';
import {
  endOfRequest,
  frame as http2Frame,
  numbers,
  settings as settingsFrame,
  windowOf,
} from './http2/session.test-support.ts';

const message = shouldRateLimitMethod.requestSerialize(request('user', '42'));
const body = frame(message);

async function open(choices: Parameters<typeof openDoor>[1] = {}) {
  const opened = await openDoor(new LimitingService(), choices);
  return { ...opened, session: rawClient(opened.port) };
}

async function tcp(port: number): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

describe('an answer', () => {
  test('has headers, one message and trailers', async () => {
    const { session } = await open();
    const reply = await rawCall(session, { pieces: [body] });
    expect(reply).toMatchObject({ httpStatus: 200, status: '0', message: undefined, resetCode: 0 });
    expect(reply.headers).toMatchObject({
      'content-type': 'application/grpc',
      'grpc-accept-encoding': 'identity,gzip',
    });
    expect(reply.body.readUInt32BE(1)).toBe(reply.body.length - 5);
    expect(shouldRateLimitMethod.responseDeserialize(reply.body.subarray(5))).toMatchObject({ overallCode: 'OK' });
  });

  test.each([
    ['application/grpc'],
    ['application/grpc+proto'],
    ['application/grpc;charset=utf-8'],
    ['Application/GRPC+Proto ; x=y'],
  ])('is given to content type %s', async (contentType) => {
    const { session } = await open();
    expect(await rawCall(session, { headers: { 'content-type': contentType }, pieces: [body] })).toMatchObject({
      status: '0',
    });
  });

  test('does not ask for te: trailers', async () => {
    const { session } = await open();
    expect(await rawCall(session, { headers: { te: undefined }, pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('is given to a body in single bytes', async () => {
    const { session } = await open();
    const reply = await rawCall(session, { pieces: [...body].map((byte) => Buffer.of(byte)) });
    expect(reply.status).toBe('0');
  });

  test('is given to gzip, with and without the flag', async () => {
    const { session } = await open();
    const headers = { 'grpc-encoding': 'gzip' };
    expect(await rawCall(session, { headers, pieces: [frame(gzipSync(message), 1)] })).toMatchObject({ status: '0' });
    expect(await rawCall(session, { headers, pieces: [body] })).toMatchObject({ status: '0' });
  });
});

describe('what is not gRPC', () => {
  test.each([
    ['another content type', { 'content-type': 'application/json' }, 415],
    ['another format of messages', { 'content-type': 'application/grpc+json' }, 415],
    ['gRPC for browsers', { 'content-type': 'application/grpc-web' }, 415],
    ['no content type', { 'content-type': undefined }, 415],
    ['another method', { ':method': 'PUT' }, 405],
  ])('%s is told so in HTTP', async (_name, headers, httpStatus) => {
    const { session, settings } = await open();
    const reply = await rawCall(session, { headers, pieces: [body] });
    expect(reply).toMatchObject({ httpStatus, status: undefined });
    expect(settings.meter.malformed).toBe(1);
    expect(await rawCall(session, { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('HTTP/1.1 ends its connection and nothing else', async () => {
    const { port, session } = await open();
    const socket = await tcp(port);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.resume();
    await closed(socket);
    expect(await rawCall(session, { pieces: [body] })).toMatchObject({ status: '0' });
  });
});

describe('refuses', () => {
  const trailersOnly = { httpStatus: 200, body: Buffer.alloc(0) };
  test.each([
    ['a path that is none', { headers: { ':path': '/' }, pieces: [body] }, '12', 'there is no method "/"'],
    [
      'the method of another service',
      { headers: { ':path': '/x/ShouldRateLimit' }, pieces: [body] },
      '12',
      'there is no method',
    ],
    [
      'an encoding it does not know',
      { headers: { 'grpc-encoding': 'snappy' }, pieces: [body] },
      '12',
      'grpc-encoding must be one of identity,gzip, got "snappy"',
    ],
    [
      'a compressed message without an encoding',
      { pieces: [frame(gzipSync(message), 1)] },
      '13',
      'a message says that it is compressed',
    ],
    [
      'a time-out that is none',
      { headers: { 'grpc-timeout': '5 s' }, pieces: [body] },
      '3',
      'grpc-timeout must be 1 to 8 digits',
    ],
    [
      'a time-out that has passed',
      { headers: { 'grpc-timeout': '0m' }, pieces: [body] },
      '4',
      'the deadline of the call has passed',
    ],
    ['no message', {}, '12', 'a unary call must have one message, got none'],
    ['two messages', { pieces: [body, body] }, '12', 'a unary call must have one message, got more'],
    ['half a message', { pieces: [body.subarray(0, 9)] }, '3', 'the body ends in the middle of a message'],
    [
      'what is not protobuf',
      { pieces: [frame(Buffer.from('ffffff', 'hex'))] },
      '3',
      'the protobuf message ends in the middle of a field',
    ],
    [
      'a length of four gigabytes',
      { pieces: [Buffer.from('00ffffffff', 'hex')], isUnfinished: true },
      '8',
      'a message must be at most 65536 bytes',
    ],
    [
      'anything, with a text whose percent sign is encoded',
      { headers: { 'grpc-timeout': '5%' }, pieces: [body] },
      '3',
      'got "5%25"',
    ],
  ])('%s', async (_name, call, status, text) => {
    const { session, settings } = await open();
    const reply = await rawCall(session, call);
    expect(reply).toMatchObject({ ...trailersOnly, status, message: expect.stringContaining(text) });
    expect(reply.resetCode).toBe(constants.NGHTTP2_NO_ERROR);
    expect(settings.meter.requests).toBe(1);
    // The connection goes on.
    expect(await rawCall(session, { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('more unfinished bodies than a connection may hold', async () => {
    const { session, port } = await open({ limits: { bodyBytes: 30_000 } });
    const half = Buffer.concat([Buffer.from('0000007530', 'hex'), Buffer.alloc(20_000)]);
    const calls = Array.from({ length: 20 }, () => rawCall(session, { pieces: [half], isUnfinished: true }));
    const first = await Promise.race(calls);
    expect(first).toMatchObject({
      status: '8',
      message: expect.stringContaining('the unfinished messages of a connection'),
    });
    expect(await rawCall(rawClient(port), { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('more unfinished bodies than all clients may leave here, and small ones go on', async () => {
    const { port } = await open({ limits: { bodyBytes: 2 ** 20 } });
    const most = Buffer.concat([Buffer.from('00000f4240', 'hex'), Buffer.alloc(999_999)]);
    const calls = Array.from({ length: 20 }, () => rawClient(port)).flatMap((session) =>
      Array.from({ length: 4 }, () => rawCall(session, { pieces: [most], isUnfinished: true })),
    );
    expect(await Promise.race(calls)).toMatchObject({
      status: '8',
      message: expect.stringContaining(
        'the unfinished messages of all clients must be at most 67108864 bytes together',
      ),
    });
    expect(await rawCall(rawClient(port), { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('more calls of one connection at once than were announced', async () => {
    const { session } = await open({ limits: { pipelineDepth: 7 } });
    const [settings] = await once(session, 'remoteSettings');
    expect(settings).toMatchObject({ maxConcurrentStreams: 7 });
  });

  test('calls beyond the room for all, but never the share of a connection that has less', async () => {
    const { session, port } = await open({ options: { openCallsMax: 100 } });
    const unfinished = () => rawCall(session, { pieces: [body.subarray(0, 9)], isUnfinished: true });
    const refused = await Promise.race(Array.from({ length: 101 }, unfinished));
    expect(refused).toMatchObject({ httpStatus: 0, resetCode: constants.NGHTTP2_REFUSED_STREAM });
    const other = rawClient(port);
    const replies = await Promise.all(Array.from({ length: 30 }, () => rawCall(other, { pieces: [body] })));
    expect(replies.filter(({ status }) => status !== '0')).toEqual([]);
    expect(await unfinished()).toMatchObject({ resetCode: constants.NGHTTP2_REFUSED_STREAM });
  });

  test('more connections than there is room for', async () => {
    const { port, settings } = await openDoor(new LimitingService(), { limits: { connections: 3 } });
    const held = [await tcp(port), await tcp(port), await tcp(port)];
    const refused = await tcp(port);
    await closed(refused);
    expect(settings.meter).toMatchObject({ connections: 3, refusedConnections: 1 });
    held[0]!.destroy();
    await vi.waitFor(() => expect(settings.meter.connections).toBe(2));
    expect(await rawCall(rawClient(port), { pieces: [body] })).toMatchObject({ status: '0' });
  });
});

describe('time', () => {
  async function openTimed(choices: Parameters<typeof openDoor>[1] = {}) {
    const clock = new TestClock(0);
    const opened = await open({ ...choices, options: { clock, watchEveryMs: 5 } });
    /** In the steps of the sweep, each of which is seen before the next. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 250) {
        clock.advance(250);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { ...opened, clock, pass };
  }

  test('a deadline that passes while the service thinks ends the call', async () => {
    const { port } = await openDoor({ shouldRateLimit: () => new Promise<never>(() => undefined) });
    const reply = await rawCall(rawClient(port), { headers: { 'grpc-timeout': '10m' }, pieces: [body] });
    expect(reply).toMatchObject({ httpStatus: 200, status: '4', message: 'the deadline of the call has passed' });
  });

  test('a deadline that passes while the body comes ends the call, and nothing is counted', async () => {
    const { session, pass, settings } = await openTimed();
    const call = rawCall(session, {
      headers: { 'grpc-timeout': '1S' },
      pieces: [body.subarray(0, 9)],
      isUnfinished: true,
    });
    await rawCall(session, { pieces: [body] });
    await pass(1000);
    expect(await call).toMatchObject({ status: '4', message: 'the deadline of the call has passed' });
    expect(settings.meter.timedOut).toBe(0);
  });

  test('a body that does not become whole in time ends its call, and the others go on', async () => {
    const { session, pass, settings } = await openTimed({ limits: { requestMs: 5000 } });
    const call = rawCall(session, { pieces: [body.subarray(0, 9)], isUnfinished: true });
    await rawCall(session, { pieces: [body] });
    await pass(5250);
    expect(await call).toMatchObject({ status: '4', message: 'the request was not there whole within 5000 ms' });
    expect(settings.meter.timedOut).toBe(1);
    expect(await rawCall(session, { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('an answer that nobody takes is dropped', async () => {
    const { port, pass } = await openTimed({ limits: { requestMs: 5000 } });
    const session = rawClient(port, { settings: { initialWindowSize: 0 } });
    const call = rawCall(session, { pieces: [body] });
    await once(session, 'localSettings');
    await rawCall(session, { headers: { ':path': '/none' } });
    await pass(5500);
    expect(await call).toMatchObject({ resetCode: constants.NGHTTP2_CANCEL });
  });

  test('a connection that never speaks HTTP/2 ends', async () => {
    const { port, pass, settings } = await openTimed({ limits: { requestMs: 5000 } });
    const silent = await tcp(port);
    const half = await tcp(port);
    half.write('PRI * HTT');
    const bothClosed = [closed(silent), closed(half)];
    await vi.waitFor(() => expect(settings.meter.connections).toBe(3));
    await pass(5250);
    await Promise.all(bothClosed);
    expect(settings.meter.timedOut).toBe(2);
  });

  test('a connection on which nothing happens ends; one that is used does not', async () => {
    const { session, port, pass, settings } = await openTimed({ limits: { idleMs: 10_000 } });
    const used = rawClient(port);
    await rawCall(session, { pieces: [body] });
    await rawCall(used, { pieces: [body] });
    const sessionClosed = closed(session);
    await pass(7500);
    await rawCall(used, { pieces: [body] });
    await pass(2750);
    await sessionClosed;
    expect(settings.meter).toMatchObject({ timedOut: 1, connections: 1 });
    expect(await rawCall(used, { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('a watcher is asked whether it is still there, and stays when it answers', async () => {
    const { session, pass, settings } = await openTimed({ limits: { requestMs: 10_000, idleMs: 15_000 } });
    const pings: unknown[] = [];
    session.on('ping', (payload) => pings.push(payload));
    await once(watchOn(session), 'data');
    for (let round = 1; round <= 3; round++) {
      await pass(10_250);
      await vi.waitFor(() => expect(pings).toHaveLength(round));
      // Its own answer to the ping has arrived when the answer to this one has.
      await new Promise((resolve) => session.ping(resolve));
    }
    expect(settings.meter).toMatchObject({ timedOut: 0, connections: 1 });
  });

  test('a connection that broke the protocol is told so, and closed at once', async () => {
    const { port, session, settings } = await openTimed();
    await rawCall(session, { pieces: [body] });
    const broken = await tcp(port);
    const chunks: Buffer[] = [];
    broken.on('data', (chunk) => chunks.push(chunk));
    // A greeting, SETTINGS, and a PRIORITY frame without its five bytes.
    broken.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    broken.write(Buffer.from('000000040000000000000000020000000001', 'hex'));
    await closed(broken);
    expect(Buffer.concat(chunks).toString('latin1')).toContain('a frame (priority) must not have 0 bytes');
    await vi.waitFor(() => expect(settings.meter).toMatchObject({ malformed: 1, timedOut: 0, connections: 1 }));
    expect(await rawCall(session, { pieces: [body] })).toMatchObject({ status: '0' });
  });

  test('a watcher that does not answer has gone', async () => {
    const { session: other, port, pass, settings } = await openTimed({ limits: { requestMs: 10_000, idleMs: 0 } });
    const proxy = await startFaultProxy({ port });
    onTestFinished(() => proxy.stop());
    const watch = watchOn(rawClient(proxy.port));
    await once(watch, 'data');
    other.destroy();
    await vi.waitFor(() => expect(settings.meter.connections).toBe(1));
    proxy.blackhole();
    await pass(10_250);
    expect(settings.meter).toMatchObject({ timedOut: 0, connections: 1 });
    await pass(10_250);
    await vi.waitFor(() => expect(settings.meter).toMatchObject({ timedOut: 1, connections: 0 }));
  });
});

function watchOn(session: ClientHttp2Session): ClientHttp2Stream {
  const watch = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
  });
  watch.on('error', () => undefined);
  watch.end(frame(healthCheckMethod.requestSerialize({ service: '' })));
  return watch;
}

test('a client that resets its calls harms nobody', async () => {
  const { session, port, address } = await open();
  for (let index = 0; index < 300; index++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': shouldRateLimitMethod.path,
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined);
    stream.write(body.subarray(0, index % body.length));
    stream.close(constants.NGHTTP2_CANCEL);
    if (index % 50 === 0) await rawCall(rawClient(port), { pieces: [body] });
  }
  expect((await new GrpcClient(address).shouldRateLimit(request('other', '1'))).overallCode).toBe('OK');
});

// What no library's client does: the frames are made by hand.
describe('a client that', () => {
  const head = fieldBlock({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': shouldRateLimitMethod.path,
    'content-type': 'application/grpc',
  });
  const call = (streamId: number) =>
    Buffer.concat([
      http2Frame(frameTypes.headers, frameFlags.endHeaders, streamId, head),
      http2Frame(frameTypes.data, frameFlags.endStream, streamId, body),
    ]);
  const greeting = Buffer.concat([clientPreface, settingsFrame()]);

  test('says nothing more is answered all the same, also where answers take their time', async () => {
    const service = new LimitingService();
    const { port } = await openDoor({
      shouldRateLimit: async (asked) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return service.shouldRateLimit(asked);
      },
    });
    const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.end(Buffer.concat([greeting, call(1), call(3)]));
    await once(socket, 'close');
    const told = Buffer.concat(chunks).toString('latin1');
    expect(told.split('RateLimit-Remaining')).toHaveLength(3);
  });

  test('resets its calls asks for no more at once than it may: those that are under way count', async () => {
    let asked = 0;
    const { port, settings } = await openDoor(
      { shouldRateLimit: () => new Promise<never>(() => void asked++) },
      { limits: { pipelineDepth: 10 } },
    );
    const socket = await tcp(port);
    socket.resume();
    socket.write(greeting);
    for (let round = 0; round < 50; round++) {
      const calls = Array.from({ length: 20 }, (_, index) => {
        const streamId = 2 * (20 * round + index) + 1;
        return Buffer.concat([call(streamId), http2Frame(frameTypes.reset, 0, streamId, numbers(8))]);
      });
      socket.write(Buffer.concat(calls));
    }
    socket.write(http2Frame(frameTypes.ping, 0, 0, Buffer.alloc(8)));
    // The answer to the PING is behind all of it.
    let told = '';
    for await (const chunk of socket) {
      told += (chunk as Buffer).toString('hex');
      if (told.includes('000008060100000000')) break;
    }
    expect(asked).toBe(10);
    expect(settings.meter.malformed).toBe(0);
  });

  test('has more metadata than anybody reads is told so', async () => {
    const { port } = await openDoor(new LimitingService());
    const socket = await tcp(port);
    const large = Buffer.concat([
      Buffer.of(0x40, 1, 0x61, 0x7f, 0xa1, 0x1e),
      Buffer.alloc(4000, 0x62),
      Buffer.alloc(40, 0xbe),
    ]);
    socket.write(
      Buffer.concat([greeting, http2Frame(frameTypes.headers, endOfRequest, 1, Buffer.concat([head, large])), call(3)]),
    );
    let told = '';
    for await (const chunk of socket) {
      told += (chunk as Buffer).toString('latin1');
      if (told.includes('RateLimit-Remaining')) break;
    }
    expect(told).toContain('the metadata of a call must be at most 65536 bytes, counting 32 for each field, got more');
  });

  describe('asks for much at once', () => {
    const room = http2Frame(frameTypes.windowUpdate, 0, 0, numbers(2 ** 30));
    const calls = (count: number) => Buffer.concat(Array.from({ length: count }, (_, index) => call(2 * index + 1)));

    test('has it in turns with the others, however long an answer takes', async () => {
      const clock = new TestClock(0);
      const service = new LimitingService();
      let asked = 0;
      const { port } = await openDoor(
        {
          shouldRateLimit: (message) => {
            asked += 1;
            clock.advance(1);
            return service.shouldRateLimit(message);
          },
        },
        { options: { clock } },
      );
      const socket = await tcp(port);
      socket.resume();
      socket.write(Buffer.concat([greeting, room, calls(500)]));
      let askedMost = 0;
      while (asked < 500) {
        const askedBefore = asked;
        await new Promise((resolve) => setImmediate(resolve));
        askedMost = Math.max(askedMost, asked - askedBefore);
      }
      expect(askedMost).toBeLessThan(10);
    });

    test('and takes no answers is given no more of them than it may leave', async () => {
      let asked = 0;
      const responseHeadersToAdd = [{ key: 'large', value: 'x'.repeat(60_000) }];
      const { port } = await openDoor(
        {
          shouldRateLimit: () => {
            asked += 1;
            return { overallCode: 'OK', statuses: [], responseHeadersToAdd, requestHeadersToAdd: [] };
          },
        },
        { options: { clock: new TestClock(0) } },
      );
      const socket = await tcp(port);
      socket.pause();
      socket.write(Buffer.concat([greeting, settingsFrame(windowOf(2 ** 31 - 1)), room, calls(300)]));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(asked).toBeLessThan(300);
      socket.resume();
      await vi.waitFor(() => expect(asked).toBe(300));
    });
  });

  test('does not take its answers is not read from, until it does', async () => {
    const { port } = await openDoor(new LimitingService());
    const socket = await tcp(port);
    socket.pause();
    socket.write(greeting);
    const pings = Buffer.alloc(3600 * 17, http2Frame(frameTypes.ping, 0, 0, Buffer.alloc(8)));
    const isTaken = () =>
      new Promise<boolean>((resolve) => {
        const timer = setTimeout(resolve, 300, false);
        socket.write(pings, () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
    // Far more than the kernel and the door hold for it.
    const writesMax = 500;
    let writes = 1;
    while (writes < writesMax && (await isTaken())) writes += 1;
    expect(writes).toBeLessThan(writesMax);
    let answerBytes = 0;
    for await (const chunk of socket) {
      answerBytes += (chunk as Buffer).length;
      if (answerBytes > writes * pings.length) break;
    }
  });
});
