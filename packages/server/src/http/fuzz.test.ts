// Whatever is sent, the door lives, answers in kind or hangs up, and serves the others. PROPERTY_SEED takes another seed.
import { seededRandom } from 'sluice/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { documentedApi } from './documented.test-support.ts';
import { answeringLater, checkBytes, type Json, type Opened, open, RawClient } from './http-door.test-support.ts';
import { openApiDocument } from './openapi.ts';
import { routesOf } from './routes.ts';

const seed = inject('propertySeed');
const random = seededRandom(seed);
const below = (n: number): number => Math.floor(random() * n);
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const bytesOf = (n: number): string => Array.from({ length: n }, () => String.fromCharCode(below(256))).join('');

const texts = [
  '',
  'a',
  '42',
  'ü',
  '\0',
  '\ud83d',
  '\u{1f6b0}',
  '__proto__',
  'constructor',
  'x'.repeat(300),
  '1e999',
  '%',
  '/',
  '"',
  '\\',
  '\r\n',
];
const numbers = [0, 1, -1, 0.5, 1e308, -0, 2 ** 53, Number.MAX_VALUE, Number.MIN_VALUE];

function anyValue(depth: number): Json {
  switch (below(depth > 3 ? 4 : 7)) {
    case 0:
      return oneOf(texts);
    case 1:
      return oneOf(numbers);
    case 2:
      return oneOf([true, false, null]);
    case 3:
      return below(100_000);
    case 4:
      return Array.from({ length: below(4) }, () => anyValue(depth + 1));
    default:
      return Object.fromEntries(Array.from({ length: below(4) }, () => [oneOf(fields), anyValue(depth + 1)]));
  }
}

const fields = [
  'subject',
  'policy',
  'key',
  'cost',
  'id',
  'items',
  'atMs',
  'user',
  'ip',
  'tier',
  'algorithm',
  'limit',
  'window',
  'burst',
  'domain',
  'descriptors',
  'entries',
  'expiresIn',
  ...texts,
];
const algorithms = [
  'gcra',
  'token-bucket',
  'sliding-log',
  'fixed-window',
  'sliding-slots',
  'sliding-window',
  'leaky-bucket',
  'smooth',
  'concurrency',
  'x',
];

/** Nearly right, so that it comes further than the first check. */
function nearlyCheck(): Json {
  const body: Json =
    random() < 0.5
      ? {
          subject: { user: oneOf(texts), ip: oneOf(['203.0.113.9', '::1', 'nonsense']), tier: oneOf(texts) },
          cost: oneOf([1, 0, 2, ...numbers]),
        }
      : {
          policy: {
            algorithm: oneOf(algorithms),
            limit: oneOf([1, 5, ...numbers]),
            window: oneOf(['1s', '1m', 1000, 0, 'x']),
          },
          key: oneOf(texts),
        };
  if (random() < 0.3) body[oneOf(fields)] = anyValue(0);
  if (random() < 0.1) delete body[oneOf(Object.keys(body))];
  return body;
}

function anyBody(): string {
  const text = JSON.stringify(
    oneOf([
      nearlyCheck,
      nearlyCheck,
      () => anyValue(0),
      () => ({ items: Array.from({ length: below(12) }, nearlyCheck) }),
    ])(),
  );
  switch (below(8)) {
    case 0:
      return text.slice(0, below(text.length + 1));
    case 1: {
      const at = below(text.length + 1);
      return text.slice(0, at) + bytesOf(1 + below(3)) + text.slice(at);
    }
    case 2:
      return `${'['.repeat(below(2000))}${text}${']'.repeat(below(2000))}`;
    case 3:
      return bytesOf(below(200));
    default:
      return Buffer.from(text).toString('latin1');
  }
}

const targets = routesOf('everything').map(({ method, path }) => [method, path] as const);

function anyPath(): readonly [string, string] {
  const [method, template] = oneOf(targets);
  const path = template.replace(/\{\w+\}/g, () =>
    oneOf(['per-user', '42', '%', '%zz', '%00', '%2F', encodeURIComponent('ü'), 'k'.repeat(300), '..']),
  );
  const odd =
    random() < 0.2
      ? oneOf(['?', '?most=%', '?most=1e9', '#x', '/', '//', '/../..', '?__proto__=1', `?${'q'.repeat(500)}`])
      : '';
  return [
    random() < 0.1 ? oneOf(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'BREW']) : method,
    path + odd,
  ];
}

const oddHeaders = [
  'Expect: 100-continue',
  'Expect: x',
  'Connection: close',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'Content-Encoding: gzip',
  'Authorization: Bearer x',
  'X: \xff',
  `X-Long: ${'x'.repeat(3000)}`,
  'Content-Type: text/plain',
  'Cookie: a=b',
  'traceparent: 00-x',
  ': empty',
  'No colon',
  'Content-Length: 3',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  ' folded: x',
  'Host: other',
];

function anyRequest(): string {
  const [method, path] = random() < 0.5 ? (['POST', '/v1/check'] as const) : anyPath();
  const body = anyBody();
  const length = random() < 0.9 ? body.length : below(body.length * 2 + 2);
  const headers = ['Host: sluice', 'Content-Type: application/json', `Content-Length: ${length}`];
  while (random() < 0.15) headers.splice(below(headers.length + 1), 0, oneOf(oddHeaders));
  while (random() < 0.05) headers.splice(below(headers.length), 1);
  const head = `${method} ${path} HTTP/1.${random() < 0.95 ? 1 : below(10)}\r\n${headers.join('\r\n')}\r\n\r\n`;
  const whole = head + body;
  if (random() < 0.1) return whole.slice(0, below(whole.length));
  if (random() < 0.05) return whole.replaceAll('\r\n', oneOf(['\n', '\r', '\r\r\n']));
  return random() < 0.02 ? bytesOf(below(400)) : whole;
}

describe.each([false, true])('the door under random input (a service that answers later: %s)', (isLater) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open({ limits: { requestMs: 2000, connections: 200 } }, isLater ? answeringLater : undefined);
  });
  afterAll(() => opened.close());

  it('answers every body that arrives whole as the document promises', async () => {
    const api = documentedApi(JSON.parse(JSON.stringify(openApiDocument(routesOf('everything')))));
    const seen: Record<number, number> = {};
    const tried = 2000;
    for (let i = 0; i < tried; i += 1) {
      const path = oneOf(['/v1/check', '/v1/check', '/v1/check/batch', '/json']);
      const body = Buffer.from(anyBody(), 'latin1');
      const response = await opened.ask('POST', path, body);
      expect(api.problems('POST', path, response), `seed ${seed}: ${path} ${body}`).toEqual([]);
      seen[response.status] = (seen[response.status] ?? 0) + 1;
    }
    console.log(`HTTP bodies tried: ${tried} (seed ${seed}), by status: ${JSON.stringify(seen)}`);
    expect(Object.keys(seen)).toEqual(expect.arrayContaining(['200', '400', '429']));
    expect(seen[500] ?? 0).toBe(0);
    expect(opened.errors).toEqual([]);
  });

  it('survives requests of any shape, and serves others after each batch of them', async () => {
    const batches = 60;
    const inBatch = 50;
    let responses = 0;
    for (let batch = 0; batch < batches; batch += 1) {
      const clients = Array.from({ length: inBatch }, () => {
        const client = new RawClient(opened.port);
        const bytes = Array.from({ length: 1 + below(3) }, anyRequest).join('');
        const cut = random() < 0.3 ? below(bytes.length) : bytes.length;
        client.socket.write(bytes.slice(0, cut), 'latin1');
        if (cut < bytes.length) client.socket.write(bytes.slice(cut), 'latin1');
        if (random() < 0.7) client.socket.end();
        return client;
      });
      const good = new RawClient(opened.port);
      await good.send(checkBytes({ policy: { algorithm: 'gcra', limit: 1e9, window: '1s' }, key: 'good' }));
      expect((await good.response())?.status, `seed ${seed}, batch ${batch}`).toBe(200);
      good.close();
      const first = await Promise.race([
        Promise.all(clients.map((client) => client.response())),
        new Promise<undefined[]>((resolve) => setTimeout(resolve, 50, [])),
      ]);
      responses += first.filter((response) => response !== undefined).length;
      for (const client of clients) client.close();
    }
    console.log(
      `HTTP requests of any shape tried: ${batches * inBatch} connections (seed ${seed}), ${responses} of them answered in time`,
    );
    expect(opened.errors, `seed ${seed}`).toEqual([]);
    const { status } = await opened.ask('GET', '/healthz');
    expect(status).toBe(200);
  });
});
