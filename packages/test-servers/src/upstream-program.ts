/**
 * What stands behind a gateway in tests, in a process of its own: `node upstream-program.js <port> <name>`.
 *
 *      /                       its name
 *      ?sleepMs=20             the same, later
 *      ?status=503             the same, with this status
 *      ?bytes=1000000          so many bytes instead
 *      /requests               how many requests it had so far, but for these
 *      POST                    what was sent, with the length it had
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { loopback } from './free-port.ts';

const [port = '0', name = 'upstream'] = process.argv.slice(2);
let requests = 0;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://any');
  if (pathname === '/requests') {
    response.end(String(requests));
    return;
  }
  requests += 1;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const sent = Buffer.concat(chunks);
  await sleep(Number(searchParams.get('sleepMs') ?? 0));
  const bytes = Number(searchParams.get('bytes') ?? 0);
  response.writeHead(Number(searchParams.get('status') ?? 200), { 'x-upstream': name, 'content-type': 'text/plain' });
  if (bytes > 0) response.end(Buffer.alloc(bytes, 'x'));
  else response.end(request.method === 'POST' ? sent : name);
}

createServer((request, response) => {
  // A client that leaves in mid-request is none of its business.
  answer(request, response).catch(() => response.destroy());
}).listen(Number(port), loopback, () => console.log('listening'));
