// A bare node:http server that answers everything with the same: how fast Node's own HTTP is. In a process of its own.
import { createServer } from 'node:http';

/** What to answer with, and whether the request's body is waited for first, as whoever needs it has to. */
const { headers, body, isBodyRead } = JSON.parse(process.argv[2] ?? '');

const server = createServer((request, response) => {
  const answer = () => {
    response.writeHead(200, headers);
    response.end(body);
  };
  if (isBodyRead) request.on('end', answer).resume();
  else answer();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : address);
});
