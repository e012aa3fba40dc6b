import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { status } from '@grpc/grpc-js';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { RateLimitRequest, RateLimitResponse } from '../envoy/rate-limit-message.ts';
import {
  closed,
  frame,
  GrpcClient,
  LimitingService,
  openDoor,
  rawCall,
  rawClient,
  request,
  shouldRateLimitMethod,
} from './grpc-door.test-support.ts';
import { grpcDoor } from './grpc-door.ts';

/** Answers when it is told to. */
class HeldService extends LimitingService {
  readonly held: (() => void)[] = [];

  hold(asked: RateLimitRequest): Promise<RateLimitResponse> {
    return new Promise((resolve) => this.held.push(() => resolve(this.shouldRateLimit(asked))));
  }
}

const body = frame(shouldRateLimitMethod.requestSerialize(request('user', '42')));

test('what was begun is finished before the connections close', async () => {
  const service = new HeldService();
  const { address, door, settings } = await openDoor({ shouldRateLimit: (asked) => service.hold(asked) });
  const client = new GrpcClient(address);
  const calls = Array.from({ length: 50 }, (_, index) => client.shouldRateLimit(request('user', String(index))));
  await vi.waitFor(() => expect(service.held).toHaveLength(50));
  let isDrained = false;
  const drained = door.drain(60_000).then(() => {
    isDrained = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDrained).toBe(false);
  for (const answer of service.held) answer();
  expect((await Promise.all(calls)).map(({ overallCode }) => overallCode)).toEqual(Array(50).fill('OK'));
  await drained;
  expect(settings.meter.connections).toBe(0);
});

test('what does not finish in time is cut off', async () => {
  const service = new HeldService();
  const { address, door } = await openDoor({ shouldRateLimit: (asked) => service.hold(asked) });
  const call = new GrpcClient(address).shouldRateLimit(request('user', '1'));
  const failed = expect(call).rejects.toMatchObject({ code: expect.toSatisfy((code) => code !== status.UNKNOWN) });
  await vi.waitFor(() => expect(service.held).toHaveLength(1));
  await door.drain(1);
  await failed;
  service.held[0]!();
});

test('idle connections, and those in the middle of a greeting, do not hold a drain up', async () => {
  const { port, door, settings } = await openDoor(new LimitingService());
  const silent = connect(port, '127.0.0.1');
  silent.on('error', () => undefined);
  const session = rawClient(port);
  await rawCall(session, { pieces: [body] });
  await vi.waitFor(() => expect(settings.meter.connections).toBe(2));
  const sessionClosed = closed(session);
  await door.drain(60_000);
  await sessionClosed;
  expect(settings.meter.connections).toBe(0);
  expect(door.server.listening).toBe(false);
});

test('a socket that another thread opened is left open to it', async () => {
  const { settings } = await openDoor(new LimitingService());
  const { fd, port } = await socketOfAnotherThread();
  const door = grpcDoor(new LimitingService() as never, settings);
  await door.listen({ fd });
  await door.drain(1000);
  expect(door.server.listening).toBe(true);
  // Either may accept. The door that has drained closes the connection; the other thread still answers.
  let answer: string;
  do answer = await textFrom(port);
  while (answer !== 'another thread');
});

/** The number of a socket that listens, by which other threads of this process can listen too. */
async function socketOfAnotherThread(): Promise<{ fd: number; port: number }> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:net').createServer((socket) => socket.end('another thread'));
     server.listen(0, '127.0.0.1', () => parentPort.postMessage({ fd: server._handle.fd, port: server.address().port }));`,
    { eval: true },
  );
  onTestFinished(async () => void (await worker.terminate()));
  const [listening] = await once(worker, 'message');
  return listening;
}

async function textFrom(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  await closed(socket);
  return text;
}

test('callers under load never see an error while one of two doors drains', async () => {
  const service = new LimitingService();
  const first = await openDoor(service);
  const second = await openDoor(service);
  const ports = [first.port, second.port].map((port) => `127.0.0.1:${port}`).join(',');
  const client = new GrpcClient(`ipv4:${ports}`, undefined, {
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  });
  let isOver = false;
  let answered = 0;
  const caller = async (name: number) => {
    while (!isOver) {
      await client.shouldRateLimit(request('user', String(name)), { deadline: Date.now() + 30_000 });
      answered++;
    }
  };
  const callers = Promise.all(Array.from({ length: 40 }, (_, name) => caller(name)));
  await vi.waitFor(() => {
    expect(first.settings.meter.requests).toBeGreaterThan(500);
    expect(second.settings.meter.requests).toBeGreaterThan(500);
  }, 30_000);
  await first.door.drain(30_000);
  const atDrain = answered;
  await vi.waitFor(() => expect(answered).toBeGreaterThan(atDrain + 500), 30_000);
  isOver = true;
  await callers;
  expect(first.settings.meter.connections).toBe(0);
});
