/**
 * Another reader, that of Node's own server (llhttp), is asked about whatever is accepted here: as it came, and as it is sent on. It may refuse what is
 * accepted here, and must never see other requests in the same bytes.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunkEnd, chunkHead, lastChunk } from './chunk.ts';
import { endToEnd } from './hop-by-hop.ts';
import { malformedCorpus } from './malformed-corpus.test-support.ts';
import { mutated } from './mutations.test-support.ts';
import { readMessages, type WholeRequest } from './read-messages.test-support.ts';
import { absoluteForm } from './target.ts';
import { wellFormedCorpus } from './well-formed-corpus.test-support.ts';
import { requestText } from './write-head.ts';

interface Seen {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

interface SeenByNode {
  readonly requests: readonly Seen[];
  /** It sees nothing behind these. */
  readonly isRefused: boolean;
  /** It wants more of a request that is whole here. */
  readonly isWaiting: boolean;
}

const server = createServer({ requireHostHeader: false });
const bySocket = new Map<number, { requests: Seen[]; isRefused: boolean; isWaiting: boolean }>();

server.on('request', (request: IncomingMessage, answer) => {
  const seen = bySocket.get(request.socket.remotePort!)!;
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const method = request.method!;
    const target = absoluteForm(request.url!, method)?.target ?? request.url!;
    seen.requests.push({ method, target, headers: inLowerCase(request.rawHeaders), body });
    answer.end();
  });
});
server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
  const seen = bySocket.get((socket as Socket).remotePort!);
  if (seen !== undefined) {
    seen.isRefused = true;
    seen.isWaiting = error.code === 'HPE_INVALID_EOF_STATE';
  }
  socket.destroy();
});
// Behind a wish to upgrade Node sees no more requests; what is sent on never has one.
server.on('upgrade', (request: IncomingMessage, socket) => {
  bySocket.get(request.socket.remotePort!)!.isRefused = true;
  socket.destroy();
});

beforeAll(() => new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening)));
afterAll(() => new Promise<void>((closed) => void server.close(() => closed())));

/** The last request closes the connection: when it is closed, everything has been seen. */
const last = Buffer.from('GET /last HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n');

function seenByNode(bytes: Buffer): Promise<SeenByNode> {
  return new Promise((resolve) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const seen = { requests: [] as Seen[], isRefused: false, isWaiting: false };
    let port = 0;
    socket.on('connect', () => {
      port = socket.localPort!;
      bySocket.set(port, seen);
      socket.end(Buffer.concat([bytes, last]));
    });
    // Node destroys the connection of whom it refuses.
    socket.on('error', () => {});
    socket.on('close', () => {
      bySocket.delete(port);
      resolve(seen);
    });
    socket.resume();
  });
}

function inLowerCase(headers: readonly string[]): string[] {
  return headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
}

const withoutHost = (headers: readonly string[]) => {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text === 'host');
  return at === -1 ? headers : [...headers.slice(0, at), ...headers.slice(at + 2)];
};

/** What is read here, up to the request that closes the connection. */
function seenHere(requests: readonly WholeRequest[]): Seen[] {
  const closing = requests.findIndex(({ head }) => !head.isKeepAlive);
  const served = closing === -1 ? requests : requests.slice(0, closing + 1);
  return served.map(({ head: { method, target, headers }, body }) => ({ method, target, headers, body }));
}

const nodesRequests = (seen: SeenByNode) =>
  seen.requests.map((request) => ({ ...request, headers: withoutHost(request.headers) }));

/** As the gateway sends it on. */
function sentOn({ head, body, trailers }: WholeRequest): Buffer {
  const framing = head.framing === 'chunked' ? ['transfer-encoding', 'chunked'] : ['content-length', `${head.framing}`];
  const text = requestText(head.method, head.target, endToEnd(head.headers), ['host', head.authority, ...framing]);
  const data = Buffer.from(body, 'latin1');
  if (head.framing !== 'chunked') return Buffer.concat([Buffer.from(text, 'latin1'), data]);
  const chunk = data.length === 0 ? [] : [Buffer.from(chunkHead(data.length)), data, Buffer.from(chunkEnd)];
  return Buffer.concat([Buffer.from(text, 'latin1'), ...chunk, Buffer.from(lastChunk(trailers), 'latin1')]);
}

const seenAfter = ({ head, body }: WholeRequest) => ({ method: head.method, target: head.target, body });

/** Whether Node took them all too. */
async function expectNoOtherReading(bytes: Buffer): Promise<boolean> {
  const read = readMessages([Buffer.concat([bytes, last])]);
  const here = seenHere(read.requests);
  const node = await seenByNode(bytes);
  const seen = nodesRequests(node);
  expect(node.isWaiting).toBe(false);
  expect(seen).toEqual(here.slice(0, seen.length));
  if (!node.isRefused) expect(seen).toHaveLength(here.length);

  const again = await seenByNode(Buffer.concat(read.requests.slice(0, -1).map(sentOn)));
  const expected = read.requests.slice(0, -1).map(seenAfter);
  const sent = again.requests.map(({ method, target, body }) => ({ method, target, body })).slice(0, expected.length);
  expect(again.isWaiting).toBe(false);
  expect(sent).toEqual(expected.slice(0, sent.length));
  if (!again.isRefused) expect(again.requests).toHaveLength(expected.length + 1);
  return seen.length === here.length && sent.length === expected.length;
}

/** It does not know of tabs behind `chunked`, and thinks that there is another coding. */
const refusedByNode = new Set(['chunks, blanks around the coding']);

describe('Node reads the same', () => {
  it.each(wellFormedCorpus)('of $name', async ({ name, bytes }) => {
    expect(await expectNoOtherReading(bytes)).toBe(!refusedByNode.has(name));
  });

  it('of whatever is accepted after a few mutations', async () => {
    const short = ({ bytes }: { bytes: Buffer }) => bytes.length < 1000;
    const wellFormed = wellFormedCorpus.filter(short).map((row) => row.bytes);
    const malformed = malformedCorpus.filter(short).map((row) => row.bytes);
    const seen = { refusedHere: 0, refusedByNode: 0, readByBoth: 0 };
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated(wellFormed), mutated(malformed)), async (bytes) => {
        const read = readMessages([Buffer.concat([bytes, last])]);
        if (read.fault !== undefined || read.isUnfinished) seen.refusedHere += 1;
        else seen[(await expectNoOtherReading(bytes)) ? 'readByBoth' : 'refusedByNode'] += 1;
      }),
      { numRuns: 8000 },
    );
    expect(seen.readByBoth).toBeGreaterThan(200);
    expect(seen.refusedHere).toBeGreaterThan(1000);
  });
});
