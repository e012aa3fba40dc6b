// Two members that say who they are and what they were asked for. The second one fails at /flaky.
import { createServer } from 'node:http';

const ports = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [9001, 9002];
for (const [i, port] of ports.entries()) {
  const server = createServer((request, response) => {
    const isFailing = i === 1 && request.url === '/flaky';
    response.writeHead(isFailing ? 503 : 200, { 'content-type': 'text/plain' });
    response.end(`member ${i + 1} ${request.method} ${request.url}\n`);
  });
  server.listen(port, '127.0.0.1', () => {
    const address = /** @type {import('node:net').AddressInfo} */ (server.address());
    console.log(`member ${i + 1} listens on ${address.port}`);
  });
}
