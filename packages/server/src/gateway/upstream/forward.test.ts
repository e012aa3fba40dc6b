import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { RepeatableBody } from './repeatable-body.ts';
import {
  answering,
  closeAll,
  connectionsTo,
  forwarded,
  MemoryBody,
  MemoryExchange,
  member,
  ok,
} from './upstream.test-support.ts';

afterEach(closeAll);

async function nodeMember(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return connectionsTo(server);
}

describe('a request', () => {
  it('is sent with the headers it was given, and those of the connection written anew', async () => {
    const { connections, sides } = await answering(ok);
    const exchange = new MemoryExchange({ target: '/a?b=c' });
    await forwarded(exchange, connections, { headers: ['accept', '*/*', 'forwarded', 'for=192.0.2.1'] });
    expect(sides[0]!.received).toBe(
      'GET /a?b=c HTTP/1.1\r\nhost: example.com\r\naccept: */*\r\nforwarded: for=192.0.2.1\r\n\r\n',
    );
  });

  it('goes to the target and authority of its options, not to those the client wrote', async () => {
    const { connections, sides } = await answering(ok);
    await forwarded(new MemoryExchange({ target: '/api/x' }), connections, { target: '/x', authority: 'member:81' });
    expect(sides[0]!.received).toBe('GET /x HTTP/1.1\r\nhost: member:81\r\n\r\n');
  });

  it.each([
    // method    client's headers                framing            connection headers
    ['GET', ['te', 'trailers'], undefined, 'te: trailers\r\nconnection: te\r\n'],
    ['GET', ['te', 'gzip'], undefined, ''],
    ['POST', [], undefined, 'content-length: 0\r\n'],
    ['PUT', [], undefined, 'content-length: 0\r\n'],
    ['DELETE', [], undefined, ''],
    ['POST', [], 5, 'content-length: 5\r\n'],
    ['POST', [], 'chunked', 'transfer-encoding: chunked\r\n'],
  ] as const)('%s with %j and framing %s says of the connection: %j', async (method, headers, framing, own) => {
    const { connections, sides } = await answering(ok);
    const body = framing === undefined ? undefined : new MemoryBody().give('hello').end();
    const exchange = new MemoryExchange({
      method,
      headers: [...headers],
      ...(body && { body, framing: framing! }),
    });
    await forwarded(exchange, connections);
    expect(sides[0]!.received.split('\r\n\r\n')[0]).toBe(
      `${method} / HTTP/1.1\r\nhost: example.com\r\n${own}`.slice(0, -2),
    );
  });

  it('keeps the known length of its body', async () => {
    const { connections, requested, sides } = await answering(ok);
    const body = new MemoryBody().give('hel').give('lo').end();
    await forwarded(new MemoryExchange({ method: 'POST', body, framing: 5 }), connections);
    await requested();
    expect(sides[0]!.received).toMatch(/content-length: 5\r\n\r\nhello$/);
  });

  it('frames chunks anew and sends trailers', async () => {
    const side = await chunkedRequest((body) => body.give('hello').give('!').end(['x-sum', '42']));
    expect(side).toMatch(/transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nx-sum: 42\r\n\r\n$/);
  });

  it('leaves out empty pieces, which would end the body', async () => {
    expect(await chunkedRequest((body) => body.give('').give('a').end())).toMatch(/\r\n\r\n1\r\na\r\n0\r\n\r\n$/);
  });

  async function chunkedRequest(fill: (body: MemoryBody) => void): Promise<string> {
    const { connections, sides } = await member({}, (side) => {
      side.socket.on('data', () => {
        if (/\r\n0\r\n([^\r]+\r\n)*\r\n$/.test(side.received)) side.write(ok);
      });
    });
    const body = new MemoryBody();
    fill(body);
    expect(await forwarded(new MemoryExchange({ method: 'POST', body }), connections)).toMatchObject({ status: 200 });
    return sides[0]!.received;
  }

  it('with a small body is one write', async () => {
    const packets: string[] = [];
    const { connections } = await member({}, (side) => {
      side.socket.on('data', (bytes) => {
        packets.push(bytes.toString());
        side.write(ok);
      });
    });
    const body = new MemoryBody().give('hello').end();
    await forwarded(new MemoryExchange({ method: 'POST', body, framing: 5 }), connections);
    expect(packets).toEqual(['POST / HTTP/1.1\r\nhost: example.com\r\ncontent-length: 5\r\n\r\nhello']);
  });

  it('whose headers would end a line early is not sent at all', async () => {
    const { connections, sides } = await answering(ok);
    const sent = forwarded(new MemoryExchange(), connections, { headers: ['a', 'b\r\nc: d'] });
    await expect(sent).rejects.toThrow('line end');
    expect([sides.length, connections.stats().open]).toEqual([0, 0]);
  });

  it('cannot be sent once more when its body was read and not kept', async () => {
    const { connections } = await answering(ok);
    const source = new MemoryBody().give('too much').end();
    const exchange = new MemoryExchange({ method: 'POST', body: source });
    const body = new RepeatableBody(source, 'chunked', 4);
    await forwarded(exchange, connections, {}, body);
    await expect(forwarded(exchange, connections, {}, body)).rejects.toThrow('cannot be sent again');
  });

  it('is not sent for a client that has left already', async () => {
    const { connections } = await answering(ok);
    const exchange = new MemoryExchange();
    exchange.leave();
    expect(await forwarded(exchange, connections)).toEqual({ kind: 'gone' });
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });
});

describe('an answer', () => {
  it('that came in one packet is passed on at once, without headers of the hop and with those added', async () => {
    const { connections } = await answering(
      'HTTP/1.1 200 OK\r\nconnection: x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=9\r\nx-a: 1\r\ncontent-length: 2\r\n\r\nok',
    );
    const exchange = new MemoryExchange();
    const result = await forwarded(exchange, connections, { responseHeaders: ['x-added', '2'] });
    expect(result).toEqual({ kind: 'answered', status: 200, headMs: expect.any(Number) });
    expect(exchange.head).toEqual({ status: 200, headers: ['x-a', '1', 'x-added', '2'] });
    expect([exchange.answerFraming, exchange.text, exchange.isEnded]).toEqual(['whole', 'ok', true]);
  });

  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  it.each([
    // method   answer                                                              framing        body      trailers      kept
    ['GET', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'whole', '', [], 1],
    ['GET', `${chunked}2\r\nok\r\n1\r\n!\r\n0\r\n\r\n`, 'whole', 'ok!', [], 1],
    ['GET', `${chunked}2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n`, 'chunked', 'ok', ['x-sum', '1'], 1],
    ['GET', `${chunked}0\r\n\r\n`, 'whole', '', [], 1],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', 'whole', '', [], 1],
    ['GET', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n', 9, '', [], 1],
    ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n', 'until-close', '', [], 1],
    ['HEAD', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', 9, '', [], 1],
    ['HEAD', chunked, 'chunked', '', [], 1],
    ['GET', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', 'whole', 'ok', [], 0],
    ['GET', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok', 'whole', 'ok', [], 0],
  ] as const)('to %s of %j is passed on as %s %j', async (method, text, framing, body, trailers, kept) => {
    const { connections } = await answering(text);
    const exchange = new MemoryExchange({ method });
    expect(await forwarded(exchange, connections)).toMatchObject({ kind: 'answered', status: exchange.status });
    expect([exchange.answerFraming, exchange.text, exchange.trailers]).toEqual([framing, body, trailers]);
    expect([exchange.isEnded, connections.stats().idle]).toEqual([true, kept]);
  });

  it.each([
    ['of a known length', 'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n', ['hello', ' world'], 11, []],
    ['in chunks', chunked, ['5\r\nhel', 'lo\r\n6\r\n worl', 'd\r\n0\r\nx-sum: 1\r\n\r\n'], 'chunked', ['x-sum', '1']],
    ['until the connection closes', 'HTTP/1.1 200 OK\r\n\r\n', ['hello', ' world'], 'until-close', []],
  ] as const)('%s is passed on as it comes', async (_, head, parts, framing, trailers) => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write(head);
    await expect.poll(() => exchange.answerFraming).toBe(framing);
    for (const part of parts) {
      const before = exchange.bodyBytes;
      side.write(part);
      await expect.poll(() => exchange.bodyBytes > before || exchange.bodyBytes === 11).toBe(true);
    }
    if (framing === 'until-close') side.socket.end();
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
    expect([exchange.text, exchange.trailers, exchange.isEnded]).toEqual(['hello world', trailers, true]);
    expect(connections.stats().idle).toBe(framing === 'until-close' ? 0 : 1);
  });

  it('is read byte by byte as it is read in one piece', async () => {
    const text = `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${chunked}2\r\nok\r\n1\r\n!\r\n0\r\nx-sum: 1\r\n\r\n`;
    const { connections, requested } = await member();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    for (const byte of text) {
      side.write(byte);
      await new Promise(setImmediate);
    }
    expect(await result).toMatchObject({ kind: 'answered' });
    expect([exchange.text, exchange.trailers, exchange.informed]).toEqual([
      'ok!',
      ['x-sum', '1'],
      [{ status: 103, headers: ['link', '</a>'] }],
    ]);
  });

  it('is not mixed with those that are read at the same time', async () => {
    const { connections, requested } = await member();
    const exchanges = Array.from({ length: 3 }, () => new MemoryExchange());
    const results = exchanges.map((exchange) => forwarded(exchange, connections));
    const sides = await Promise.all(exchanges.map((_, i) => requested(i)));
    const texts = sides.map(
      (_, i) => `HTTP/1.1 200 OK\r\nx-who: ${i}\r\ncontent-length: 4\r\n\r\n${String(i).repeat(4)}`,
    );
    // Through heads and bodies in turn, a few bytes of each.
    for (let at = 0; at < texts[0]!.length; at += 7) {
      for (const [i, side] of sides.entries()) side.write(texts[i]!.slice(at, at + 7));
      for (let i = 0; i < 3; i += 1) await new Promise(setImmediate);
    }
    await Promise.all(results);
    const got = exchanges.map(({ text, head }) => `${head!.headers} ${text}`).sort();
    expect(got).toEqual(['x-who,0 0000', 'x-who,1 1111', 'x-who,2 2222']);
  });

  it('may be preceded by hints, which are passed on; 100 is not', async () => {
    const { connections } = await answering(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\nconnection: x\r\nx: 1\r\n\r\n${ok}`,
    );
    const exchange = new MemoryExchange();
    await forwarded(exchange, connections);
    expect(exchange.informed).toEqual([{ status: 103, headers: ['link', '</a>'] }]);
    expect(exchange.text).toBe('ok');
  });

  it('with a status to be set aside is thrown away, and the connection is kept', async () => {
    const { connections } = await answering('HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy');
    const exchange = new MemoryExchange();
    const arrived = (status: number) => status === 503;
    expect(await forwarded(exchange, connections, { arrived })).toEqual({ kind: 'set-aside', status: 503 });
    expect([exchange.status, connections.stats().idle]).toEqual([0, 1]);
    expect(await forwarded(exchange, connections)).toMatchObject({ kind: 'answered', status: 503 });
    expect([exchange.text, connections.stats().open]).toEqual(['busy', 1]);
  });

  it('that is set aside before it is whole ends the connection', async () => {
    const { connections } = await answering('HTTP/1.1 503 Busy\r\ncontent-length: 1000000\r\n\r\nbusy');
    const arrived = () => true;
    expect(await forwarded(new MemoryExchange(), connections, { arrived })).toEqual({
      kind: 'set-aside',
      status: 503,
    });
    expect(connections.stats().open).toBe(0);
  });

  it('of a server of node:http is passed on, body and all', async () => {
    const connections = await nodeMember(async (request, response) => {
      let sum = 0;
      for await (const bytes of request) sum += (bytes as Buffer).length;
      response.setHeader('x-sum', sum);
      response.end(request.headers['x-a']);
    });
    for (let i = 0; i < 3; i += 1) {
      const body = new MemoryBody().give(Buffer.alloc(300_000, 'x')).give('y').end();
      const exchange = new MemoryExchange({ method: 'POST', body });
      expect(await forwarded(exchange, connections, { headers: ['x-a', `${i}`] })).toMatchObject({ status: 200 });
      expect(exchange.text).toBe(`${i}`);
      expect(exchange.head!.headers).toEqual(expect.arrayContaining(['x-sum', '300001']));
    }
    expect(connections.stats()).toEqual({ open: 1, idle: 1, waiting: 0 });
  });
});

describe('an answer that is no HTTP is malformed, and nothing of it is passed on', () => {
  const head = 'HTTP/1.1 200 OK\r\n';
  it.each([
    ['two lengths that disagree', `${head}content-length: 2\r\ncontent-length: 3\r\n\r\nok`],
    ['two lengths that agree', `${head}content-length: 2\r\ncontent-length: 2\r\n\r\nok`],
    ['a length and chunks', `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a length that is no number', `${head}content-length: +2\r\n\r\nok`],
    ['a coding that is not understood', `${head}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a bad chunk size', `${head}transfer-encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n`],
    ['a chunk longer than it says', `${head}transfer-encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n`],
    ['a trailer that frames', `${head}transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 3\r\n\r\n`],
    ['a header without a colon', `${head}nonsense\r\ncontent-length: 2\r\n\r\nok`],
    ['a folded header', `${head}a: b\r\n c\r\ncontent-length: 2\r\n\r\nok`],
    ['a bare line feed', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
    ['another protocol', '220 mail.example.com ESMTP\r\n\r\n'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
    ['a status that is none', 'HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\nok'],
    ['a head that is too large', `${head}a: ${'x'.repeat(17_000)}\r\n\r\n`],
    ['a head that never ends', `${head}a: ${'x'.repeat(17_000)}`],
    ['too many headers', `${head}${'a: b\r\n'.repeat(101)}\r\n`],
    ['a switch of protocols that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n'],
    ['hints without end', `HTTP/1.1 103 Early Hints\r\n\r\n`.repeat(65)],
    ['a body where there is none', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok'],
  ])('%s', async (_, text) => {
    const { connections } = await answering(text);
    const exchange = new MemoryExchange();
    expect(await forwarded(exchange, connections)).toEqual({
      kind: 'failed',
      reason: 'malformed',
      message: expect.any(String),
      isAnswered: false,
      mayHaveArrived: true,
    });
    expect([exchange.status, exchange.text, connections.stats().open]).toEqual([0, '', 0]);
  });

  it('once a part was passed on, the client notices that it is not whole', async () => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n');
    await expect.poll(() => exchange.text).toBe('ok');
    side.write('zz\r\n');
    expect(await result).toMatchObject({ kind: 'failed', reason: 'malformed', isAnswered: true });
    expect([exchange.isAborted, exchange.isEnded, connections.stats().open]).toEqual([true, false, 0]);
  });

  it.each([
    ['more than its length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n'],
    ['a second answer', ok + ok],
    ['a body in answer to HEAD', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'],
    ['more than its last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx'],
  ])('%s is left over: the answer is passed on, and the connection is not used again', async (name, text) => {
    const { connections } = await answering(text);
    const exchange = new MemoryExchange({ method: name.includes('HEAD') ? 'HEAD' : 'GET' });
    expect(await forwarded(exchange, connections)).toMatchObject({ kind: 'answered', status: 200 });
    expect(exchange.text.length).toBeLessThanOrEqual(2);
    expect(connections.stats().open).toBe(0);
  });
});
