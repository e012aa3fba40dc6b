// http-proxy with connections that are kept.
import { Agent, createServer } from 'node:http';
import { listening, requirePeer } from './proxy.mjs';

const { createProxyServer } = requirePeer('http-proxy');
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const proxy = createProxyServer({ target: `http://127.0.0.1:${process.argv[2]}`, agent, xfwd: true });
proxy.on('error', (/** @type {Error} */ error, /** @type {unknown} */ _request, /** @type {any} */ response) => {
  console.error(error.message);
  response.writeHead(502).end();
});
listening(createServer((request, response) => proxy.web(request, response)));
