// What the proxies in JavaScript share.
export { requirePeer } from '../http/contender.mjs';

/** The first line that is printed is the port. @param {import('node:http').Server} server */
export function listening(server) {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    console.log(typeof address === 'object' ? address?.port : address);
  });
}
