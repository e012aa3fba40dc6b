// The load, from a process of its own: each client keeps its connection and sends its next request when the last one was answered.
import { once } from 'node:events';
import { connect } from 'node:net';
import { clients } from './clients.mjs';
import { requestBytes, statusOf } from './messages.mjs';

/**
 * Without a status, any will do.
 * @typedef {{ port: number, requests: number, status?: number }} Order
 * @typedef {{ ms: number, wrong: number }} Report
 */

/** Those of each server. @type {Map<number, Promise<import('node:net').Socket[]>>} */
const connections = new Map();

process.on('message', async (/** @type {Order} */ order) => process.send?.(await lap(order)));
process.on('disconnect', () => process.exit());
process.send?.('ready');

/** @param {number} port */
function connectionsTo(port) {
  let known = connections.get(port);
  if (known === undefined) {
    known = Promise.all(clients.map((address) => connected(port, address)));
    connections.set(port, known);
  }
  return known;
}

/** @param {number} port @param {string} localAddress */
async function connected(port, localAddress) {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  socket.on('close', () => connections.delete(port));
  await once(socket, 'connect');
  return socket;
}

/**
 * @param {Order} order
 * @returns {Promise<Report>}
 */
async function lap({ port, requests, status }) {
  const sockets = await connectionsTo(port);
  const startMs = performance.now();
  let sent = 0;
  let answered = 0;
  let wrong = 0;
  await new Promise((resolve, reject) => {
    for (const socket of sockets) {
      let text = '';
      socket.removeAllListeners('data').removeAllListeners('error');
      socket.on('error', reject);
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
        const answer = statusOf(text);
        if (answer === undefined) return;
        if (status !== undefined && answer !== status) wrong += 1;
        text = '';
        answered += 1;
        if (sent < requests) {
          sent += 1;
          socket.write(requestBytes);
        } else if (answered === requests) resolve(undefined);
      });
    }
    for (const socket of sockets.slice(0, requests)) {
      sent += 1;
      socket.write(requestBytes);
    }
  });
  return { ms: performance.now() - startMs, wrong };
}
