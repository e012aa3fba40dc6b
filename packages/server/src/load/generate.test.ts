/** Orders carried out against real servers: ours, and others that misbehave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as GrpcServer, ServerCredentials, status } from '@grpc/grpc-js';
import { type SluiceService, startRedis, startSluice } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generate } from './generate.ts';
import type { LoadOrder, Question } from './load-order.ts';
import { questions } from './service-process.ts';

const order = (port: number, question: Question, more: Partial<LoadOrder> = {}): LoadOrder => ({
  host: '127.0.0.1',
  port,
  question,
  connections: 4,
  keys: 50,
  keyOrder: 'sequential',
  loop: { kind: 'closed', inFlightPerConnection: question.protocol === 'http' ? 1 : 8, requests: 200 },
  durationMs: 30_000,
  warmUpMs: 0,
  ...more,
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('the generator against our service', () => {
  let service: SluiceService;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-load-'));
  const portFor = ({ protocol }: Question) =>
    ({ http: service.httpPort, resp: service.respPort, grpc: service.grpcPort })[protocol];

  beforeAll(async () => {
    const limit = { unit: 'hour', requests_per_unit: 1000 };
    writeFileSync(
      join(folder, 'bench.yaml'),
      JSON.stringify({ domain: 'bench', descriptors: [{ key: 'user', rate_limit: limit }] }),
    );
    const rule = { name: 'per-user', key: 'user', algorithm: 'gcra', limit: 10, window: '1h' };
    service = await startSluice({
      config: JSON.stringify({ rules: [rule] }),
      args: ['--workers', '1', '--envoy-config', folder],
    });
  });

  afterAll(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true });
  });

  it.each([questions.http, questions.resp, questions.grpc])(
    'asks $protocol and counts every answer',
    async (question) => {
      const report = await generate(order(portFor(question), question));
      expect(report).toMatchObject({ requests: 200, answered: 200, errors: 0, firstError: undefined });
      expect(report.p50Ms).toBeGreaterThan(0);
      expect(report.maxMs).toBeGreaterThanOrEqual(report.p999Ms);
    },
  );

  it.each([questions.http, questions.resp, questions.grpc])('asks $protocol on schedule', async (question) => {
    const loop = { kind: 'open', perSecond: 400 } as const;
    const report = await generate(order(portFor(question), question, { loop, durationMs: 500, warmUpMs: 50 }));
    expect(report).toMatchObject({ requests: 200, answered: 200, errors: 0 });
  });

  it('asks about each key in turn, and the service has them all', async () => {
    const lasting = { protocol: 'resp', words: ['SLUICE.CHECK', 'per-user', 'turn:{key}'] } as const;
    const loop = { kind: 'closed', inFlightPerConnection: 2, requests: 100 } as const;
    expect(await generate(order(service.respPort, lasting, { loop }))).toMatchObject({ answered: 100, errors: 0 });
    for (const key of ['turn:000000000000', 'turn:000000000049']) {
      const answer = await fetch(`${service.url}/v1/keys/per-user/${key}`);
      expect(await answer.json()).toMatchObject({ decision: { limit: 10, remaining: 8 } });
    }
  });

  it('has all answers of a pipeline that is longer than any read', async () => {
    const loop = { kind: 'closed', inFlightPerConnection: 5000, requests: 20_000 } as const;
    const report = await generate(order(service.respPort, questions.resp, { connections: 1, loop }));
    expect(report).toMatchObject({ answered: 20_000, errors: 0 });
  });

  it('takes a refusal for an answer', async () => {
    const strict = { protocol: 'resp', words: ['CL.THROTTLE', 'once:{key}', '0', '1', '3600'] } as const;
    expect(await generate(order(service.respPort, strict, { keys: 1 }))).toMatchObject({ answered: 200, errors: 0 });
  });

  it('counts error replies as errors', async () => {
    const wrong: Question[] = [
      { protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', 'many', '1', '1'] },
      { protocol: 'http', path: '/v1/check', body: '{"subjekt":{"user":"{key}"}}' },
      { protocol: 'grpc', domain: '', entry: 'user', value: '{key}' },
    ];
    for (const question of wrong) {
      const report = await generate(order(portFor(question), question));
      expect(report, question.protocol).toMatchObject({ answered: 200, errors: 200, perSecond: 0 });
      expect(report.firstError).toBeTruthy();
    }
  });
});

describe('the generator against others', () => {
  it('reads what a real Redis answers', async () => {
    const redis = await startRedis();
    try {
      const set = { protocol: 'resp', words: ['SET', 'key:{key}', 'some text'] } as const;
      const get = { protocol: 'resp', words: ['GET', 'key:{key}'] } as const;
      const push = { protocol: 'resp', words: ['LPUSH', 'key:{key}', 'x'] } as const;
      expect(await generate(order(redis.port, set))).toMatchObject({ answered: 200, errors: 0 });
      expect(await generate(order(redis.port, get))).toMatchObject({ answered: 200, errors: 0 });
      const wrong = await generate(order(redis.port, push));
      expect(wrong).toMatchObject({ answered: 200, errors: 200 });
      expect(wrong.firstError).toContain('WRONGTYPE');
    } finally {
      await redis.stop();
    }
  });

  it('counts errors of a real gRPC server one by one', async () => {
    const server = new GrpcServer();
    const asItIs = (bytes: Buffer) => bytes;
    let calls = 0;
    const method = {
      path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      requestStream: false,
      responseStream: false,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    } as const;
    server.addService(
      { shouldRateLimit: method },
      {
        shouldRateLimit(call: { request: Buffer }, answer: (error: object | null, message?: Buffer) => void) {
          calls += 1;
          if (calls % 10 === 0) answer({ code: status.UNAVAILABLE, details: 'not now' });
          else answer(null, call.request);
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    try {
      expect(await generate(order(port, questions.grpc))).toMatchObject({ answered: 200, errors: 20 });
    } finally {
      server.forceShutdown();
    }
  });

  it('counts the statuses of a real HTTP server one by one', async () => {
    let requests = 0;
    const server = createHttpServer((request, response) => {
      requests += 1;
      response.statusCode = requests % 4 === 0 ? 500 : 200;
      request.on('end', () => response.end('{}')).resume();
    });
    const port = await portOf(server);
    try {
      const report = await generate(order(port, questions.http));
      expect(report).toMatchObject({ answered: 200, errors: 50, firstError: 'HTTP status 500' });
    } finally {
      server.close();
    }
  });

  it('counts everything that was under way on a connection that broke, and ends when none is left', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.destroy()));
    const port = await portOf(server);
    try {
      const report = await generate(order(port, questions.resp));
      // Four connections with eight commands each.
      expect(report).toMatchObject({ requests: 32, answered: 32, errors: 32, perSecond: 0 });
    } finally {
      server.close();
    }
  });

  it('says that nobody listens', async () => {
    const server = createServer();
    const port = await portOf(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(generate(order(port, questions.resp))).rejects.toThrow('ECONNREFUSED');
  });
});
