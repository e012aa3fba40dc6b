// fast-proxy as its page shows it, over undici.
import { createServer } from 'node:http';
import { listening, requirePeer } from './proxy.mjs';

const fastProxy = requirePeer('fast-proxy');
const { proxy } = fastProxy({
  base: `http://127.0.0.1:${process.argv[2]}`,
  undici: { connections: 256, pipelining: 1 },
});
listening(createServer((request, response) => proxy(request, response, request.url, {})));
