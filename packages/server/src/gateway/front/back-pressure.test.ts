// The slower side sets the pace, and what waits in between is bounded, whatever the size of what passes.
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { echo, get, open, pour, settled } from './front.test-support.ts';
import { http2Client } from './http2/http2-client.test-support.ts';

const totalBytes = 200e6;

/** Writes as long as there is room, and counts. */
function pouring() {
  const written = { bytes: 0, isDone: false };
  const handle = (exchange: Exchange) => {
    const sink = exchange.answer({ status: 200, headers: [] }, totalBytes);
    // The same memory again and again: whoever did not copy what waits would send something else.
    const piece = Buffer.alloc(50_000);
    const write = () => {
      while (written.bytes < totalBytes) {
        piece.fill(written.bytes / piece.length);
        written.bytes += piece.length;
        if (!sink.write(piece)) {
          sink.whenDrained(write);
          return;
        }
      }
      written.isDone = true;
      sink.end();
    };
    write();
  };
  return { written, handle };
}

/** Whether what came is what was poured. */
function checking() {
  const seen = { bytes: 0, isRight: true };
  const take = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += 997) {
      const expected = Math.floor((seen.bytes + at) / 50_000) & 0xff;
      if (bytes[at] !== expected) seen.isRight = false;
    }
    seen.bytes += bytes.length;
  };
  return { seen, take };
}

describe('a slow reader', () => {
  it('holds up whoever writes to it by HTTP/1, and gets everything as it was', async () => {
    const { written, handle } = pouring();
    const { client } = await open(handle);
    const one = client();
    one.socket.removeAllListeners('data');
    one.socket.pause();
    await one.send(get('/'));
    await waitUntil('it is written to', () => written.bytes > 0);
    // What the kernel takes (a few megabytes) and a few hundred kilobytes.
    expect(await settled(() => written.bytes)).toBeLessThan(20e6);
    const { seen, take } = checking();
    let head = '';
    one.socket.on('data', (bytes: Buffer) => {
      const at = head.includes('\r\n\r\n') ? 0 : bytes.indexOf('\r\n\r\n') + 4;
      head += bytes.toString('latin1', 0, at);
      take(bytes.subarray(at));
    });
    one.socket.resume();
    await waitUntil('all of it has come', () => seen.bytes === totalBytes);
    expect([seen.isRight, written.isDone]).toEqual([true, true]);
  });

  it('holds up whoever writes to it by HTTP/2, and nobody else on its connection', async () => {
    const { written, handle } = pouring();
    const { port } = await open((exchange) =>
      exchange.request.target === '/large' ? handle(exchange) : echo(exchange),
    );
    const one = http2Client(port);
    const stream = one.session.request({ ':path': '/large' });
    stream.on('error', () => {});
    stream.pause();
    await waitUntil('it is written to', () => written.bytes > 0);
    expect(await settled(() => written.bytes)).toBeLessThan(1e6);
    expect((await one.ask({ ':path': '/small' })).body).toBe('GET /small');
    const { seen, take } = checking();
    stream.on('data', take);
    stream.resume();
    await waitUntil('some of it has come', () => seen.bytes > 20e6);
    expect(seen.isRight).toBe(true);
    stream.close();
  });
});

describe('a slow writer behind', () => {
  it('holds up the client by HTTP/1 and HTTP/2, and what waits is bounded', async () => {
    const bodies: Exchange[] = [];
    const { port, client } = await open(
      (exchange) => {
        bodies.push(exchange);
        exchange.body?.read({ chunk: () => exchange.body?.pause(), end() {}, failed() {} });
      },
      { limits: { bodyBytes: totalBytes } },
    );
    const before = process.memoryUsage();
    const one = client();
    const piece = Buffer.alloc(1e6);
    await one.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${totalBytes}\r\n\r\n`);
    const sent = pour(one.socket, piece, totalBytes);
    const stream = http2Client(port).session.request({ ':method': 'POST' });
    stream.on('error', () => {});
    stream.write(piece);
    await waitUntil('both are asked', () => bodies.length === 2);
    expect(await settled(() => sent.bytes)).toBeLessThan(20e6);
    expect(stream.writableLength).toBeGreaterThan(5e5);
    // Most of this is the clients' own.
    expect(process.memoryUsage().arrayBuffers - before.arrayBuffers).toBeLessThan(20e6);
  });
});
