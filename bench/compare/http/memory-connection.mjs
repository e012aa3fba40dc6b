// Connections without a network: the server's own parser reads the requests and its responses are written as ever, but to memory. What is
// left out is the system's work for sockets: about half of what a small request takes, the same for everybody, and by far the most uneven part.
import { Duplex } from 'node:stream';
import { clients } from './clients.mjs';
import { requestBytes, statusOf } from './messages.mjs';

/** The server's end, and the client behind it. */
class MemoryConnection extends Duplex {
  #text = '';
  #onStatus;

  /** @param {string} address @param {(status: number) => void} onStatus */
  constructor(address, onStatus) {
    // As with sockets, text is passed on as text.
    super({ decodeStrings: false });
    this.remoteAddress = address;
    this.#onStatus = onStatus;
  }

  /** @override */
  _read() {}

  /** @override @type {Duplex['_write']} */
  _write(chunk, _encoding, done) {
    this.#take(chunk);
    done();
  }

  /** @override @type {NonNullable<Duplex['_writev']>} */
  _writev(chunks, done) {
    for (const { chunk } of chunks) this.#take(chunk);
    done();
  }

  /** @param {string | Buffer} chunk */
  #take(chunk) {
    this.#text += typeof chunk === 'string' ? chunk : chunk.toString('latin1');
    const status = statusOf(this.#text);
    if (status === undefined) return;
    this.#text = '';
    this.#onStatus(status);
  }
}

/** @param {MemoryConnection} connection */
function ask(connection) {
  connection.push(requestBytes);
}

/**
 * Clients of a server in this process. The function sends so many requests, each client one at a time and all of them at once, and gives
 * the number of answers that had another status.
 * @param {import('node:http').Server} server
 * @returns {(requests: number, status: number | undefined) => Promise<number>}
 */
export function memoryClients(server) {
  /** @type {number | undefined} */
  let expected;
  let wrong = 0;
  let awaited = 0;
  let whenAllAnswered = () => {};
  const connections = clients.map((address) => {
    const connection = new MemoryConnection(address, (status) => {
      if (expected !== undefined && status !== expected) wrong += 1;
      awaited -= 1;
      // Not while the last answer is being written, as no network would.
      if (awaited === 0) setImmediate(whenAllAnswered);
    });
    server.emit('connection', connection);
    return connection;
  });

  /** @param {readonly MemoryConnection[]} asking */
  function askAtOnce(asking) {
    awaited = asking.length;
    return new Promise((resolve) => {
      whenAllAnswered = () => resolve(undefined);
      // Each as an event of its own, as from a socket: what was put off by one request is done before the next.
      for (const connection of asking) setImmediate(ask, connection);
    });
  }

  return async (requests, status) => {
    expected = status;
    wrong = 0;
    for (let left = requests; left > 0; left -= connections.length) await askAtOnce(connections.slice(0, left));
    return wrong;
  };
}
