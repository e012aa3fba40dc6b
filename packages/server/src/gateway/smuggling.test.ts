/**
 * The malformed requests through the whole gateway, as a process, to members that read HTTP in their own ways: Node's server, one that is as lenient as
 * it can be told to be, and nginx. None of them may ever see a request that the client hid in another, and the gateway goes on serving.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type GatewayProcess, type NginxServer, startGateway, startNginx } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { corpusLimits, malformedCorpus } from './wire/malformed-corpus.test-support.ts';

const { headBytes, headers, bodyBytes } = corpusLimits;
/** Targets that members were asked for. */
const seen: string[] = [];
let strict: Server;
let lenient: Server;
let nginx: NginxServer;
let gateways: Record<string, GatewayProcess>;

beforeAll(async () => {
  strict = await listening(createServer());
  lenient = await listening(createServer({ insecureHTTPParser: true }));
  // Behind nginx stands the strict one, which says what nginx took for requests.
  nginx = await startNginx(
    (port) => `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${portOf(strict)}; } }`,
  );
  const start = (port: number) =>
    startGateway({
      gateway: {
        http2: false,
        limits: { headBytes, headers, bodyBytes },
        upstreams: { items: { members: [`127.0.0.1:${port}`], outliers: false } },
      },
    });
  gateways = {
    'Node’s server': await start(portOf(strict)),
    'a lenient one': await start(portOf(lenient)),
    nginx: await start(nginx.port),
  };
});

afterAll(async () => {
  for (const gateway of Object.values(gateways ?? {})) await gateway.stop();
  await nginx?.stop();
  for (const server of [strict, lenient]) {
    server?.closeAllConnections();
    server?.close();
  }
});

async function listening(server: Server): Promise<Server> {
  server.on('request', (request, response) => {
    seen.push(request.url ?? '');
    request.on('error', () => undefined);
    request.resume().on('end', () => response.end('ok'));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Everything that comes back until the gateway ends the connection. */
async function send(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  // It may be closed before all was sent.
  socket.on('error', () => undefined);
  socket.write(bytes);
  socket.end('GET /smuggled HTTP/1.1\r\nHost: shop.example\r\n\r\n');
  await once(socket, 'close');
  return text;
}

describe.each(['Node’s server', 'a lenient one', 'nginx'])('before %s', (name) => {
  test('no malformed request brings another one to the member, and the gateway goes on', async () => {
    const { port, url } = gateways[name] as GatewayProcess;
    for (const row of malformedCorpus) {
      seen.length = 0;
      const answer = await send(port, row.bytes);
      const statuses = [...answer.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));
      expect({ row: row.name, statuses }).toEqual({
        row: row.name,
        statuses: [...Array(row.goodBefore).fill(200), row.status],
      });
      expect({ row: row.name, hidden: seen.filter((target) => /hidden|smuggled/.test(target)) }).toEqual({
        row: row.name,
        hidden: [],
      });
    }
    expect((await fetch(`${url}/after`)).status).toBe(200);
  });
});
