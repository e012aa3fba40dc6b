import { describe, expect, it } from 'vitest';
import type { OpenDialogue } from './dialogue.ts';
import { grpcDialogue } from './grpc-dialogue.ts';
import { httpDialogue } from './http-dialogue.ts';
import { Outgoing } from './outgoing.ts';
import { respDialogue } from './resp-dialogue.ts';

/** Asks for these keys, reads the answer in pieces of this size, and gives what was sent and told. */
function converse(open: OpenDialogue, keys: readonly number[], answer: Buffer, pieceBytes: number) {
  const out = new Outgoing();
  const told: [request: number, problem: string | undefined][] = [];
  const dialogue = open(out, { answered: (request, problem) => told.push([request, problem]) });
  out.take();
  keys.forEach((key, request) => {
    dialogue.ask(request, key);
  });
  const sent = out.take();
  for (let at = 0; at < answer.length; at += pieceBytes) dialogue.read(answer.subarray(at, at + pieceBytes));
  return { sent, told, dialogue, out };
}

const pieces = [1, 2, 3, 7, 1000];

/** As the generator reads: into a buffer in which something older stands behind what came. */
function readInto(open: OpenDialogue, answer: Buffer) {
  const told: [request: number, problem: string | undefined][] = [];
  const dialogue = open(new Outgoing(), { answered: (request, problem) => told.push([request, problem]) });
  dialogue.ask(0, 0);
  dialogue.read(Buffer.concat([answer, answer]), answer.length);
  return told;
}

describe('RESP dialogue', () => {
  const question = { protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '100'] } as const;
  const open = respDialogue(question, 10);

  it('writes the command with twelve digits of the key', () => {
    const { sent } = converse(open, [42, 999_999_999_999], Buffer.alloc(0), 1);
    const command = (digits: string) => `*3\r\n$11\r\nCL.THROTTLE\r\n$16\r\nkey:${digits}\r\n$3\r\n100\r\n`;
    expect(sent.toString()).toBe(command('000000000042') + command('999999999999'));
  });

  it.each(pieces)('finds the end of every kind of answer, read in pieces of %i bytes', (pieceBytes) => {
    const answer = Buffer.from(
      [
        '*5\r\n:0\r\n:101\r\n:100\r\n:-1\r\n:0\r\n',
        '-ERR wrong number\r\n',
        '$5\r\n-\r\nab\r\n', // a text that looks like an error
        '$-1\r\n',
        '*3\r\n$0\r\n\r\n*2\r\n:1\r\n+OK\r\n$1\r\nx\r\n',
        '*0\r\n',
        '*1\r\n-ERR within\r\n',
        ':1\r\n',
      ].join(''),
    );
    const { told, dialogue } = converse(open, [1, 2, 3, 4, 5, 6, 7, 8, 9], answer, pieceBytes);
    expect(told).toEqual([
      [0, undefined],
      [1, 'ERR wrong number'],
      [2, undefined],
      [3, undefined],
      [4, undefined],
      [5, undefined],
      [6, 'ERR within'],
      [7, undefined],
    ]);
    expect(dialogue.unanswered()).toEqual([8]);
    expect(dialogue.room()).toBe(9);
  });

  it('reads only as far as something came', () => {
    expect(readInto(open, Buffer.from('*1\r\n$2\r\nab\r\n'))).toEqual([[0, undefined]]);
  });

  it('does not take an answer that nobody asked for', () => {
    expect(() => converse(open, [], Buffer.from(':1\r\n'), 10)).toThrow('nobody had asked for');
  });
});

describe('HTTP dialogue', () => {
  const question = { protocol: 'http', path: '/v1/check', body: '{"user":"{key}"}' } as const;
  const open = httpDialogue(question, '127.0.0.1:8080');
  const answer = (status: number, body: string) =>
    Buffer.from(
      `HTTP/1.1 ${status} Whatever\r\nContent-Type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );

  it('writes a request whose length is right', () => {
    const { sent, dialogue } = converse(open, [7], Buffer.alloc(0), 1);
    expect(sent.toString()).toBe(
      'POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n{"user":"000000000007"}',
    );
    expect(dialogue.room()).toBe(0);
    expect(dialogue.unanswered()).toEqual([0]);
  });

  it.each(pieces)('takes 200 and 429 for decisions and the rest for errors, in pieces of %i bytes', (pieceBytes) => {
    const rows: [status: number, problem: string | undefined][] = [
      [200, undefined],
      [429, undefined],
      [503, 'HTTP status 503'],
      [400, 'HTTP status 400'],
    ];
    for (const [status, problem] of rows) {
      const { told, dialogue } = converse(open, [1], answer(status, 'some body'), pieceBytes);
      expect(told).toEqual([[0, problem]]);
      expect(dialogue.room()).toBe(1);
    }
  });

  it('reads only as far as something came', () => {
    expect(readInto(open, answer(200, 'some body'))).toEqual([[0, undefined]]);
  });

  it.each([
    'content-length:2',
    'CONTENT-LENGTH:   2',
    'X-Content-Length: 9\r\nContent-Length: 2\r\nContent-Lengths: 7',
  ])('finds the length in %j', (line) => {
    const text = `HTTP/1.1 200 OK\r\n${line}\r\nDate: today 12:34\r\n\r\nab`;
    expect(converse(open, [1], Buffer.from(text), 1000).told).toEqual([[0, undefined]]);
  });

  it('reads one answer after the other', () => {
    const { told, dialogue } = converse(open, [1], answer(503, 'no'), 1000);
    dialogue.ask(1, 1);
    dialogue.read(answer(200, 'some body'));
    expect(told).toEqual([
      [0, 'HTTP status 503'],
      [1, undefined],
    ]);
  });

  it('reads an answer without a body', () => {
    expect(converse(open, [1], answer(200, ''), 1000).told).toEqual([[0, undefined]]);
  });

  it.each([
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 'must have a Content-Length'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab', 'longer than it said'],
    ['x'.repeat(70_000), 'longer than 65536 bytes'],
  ])('gives up on %j', (text, message) => {
    expect(() => converse(open, [1], Buffer.from(text), 100_000)).toThrow(message);
  });
});

describe('gRPC dialogue', () => {
  const question = { protocol: 'grpc', domain: 'd', entry: 'user', value: '{key}' } as const;
  const open = grpcDialogue(question, '127.0.0.1:8081', 2);
  const frame = (type: number, flags: number, stream: number, payload: string) => {
    const bytes = Buffer.from(payload, 'latin1');
    const head = Buffer.alloc(9);
    head.writeUIntBE(bytes.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, bytes]);
  };
  const [data, headers, reset, settings, ping] = [0, 1, 3, 4, 6];
  const message = '\0\0\0\0\x02\x08\x01';

  it.each(pieces)(
    'takes an answer with a message for a decision, and one without for an error, in pieces of %i',
    (pieceBytes) => {
      const answer = Buffer.concat([
        frame(headers, 4, 1, 'status'),
        frame(data, 0, 1, message),
        frame(headers, 5, 3, 'only trailers'),
        frame(headers, 5, 1, 'trailers'),
      ]);
      const { told, dialogue } = converse(open, [1, 2], answer, pieceBytes);
      expect(told).toEqual([
        [1, 'the answer has no message: it is a gRPC error'],
        [0, undefined],
      ]);
      expect(dialogue.room()).toBe(2);
    },
  );

  it('gives a late answer to the call that asked for it, however many came and went meanwhile', () => {
    const told: number[] = [];
    const dialogue = open(new Outgoing(), { answered: (request) => told.push(request) });
    const answer = (stream: number) =>
      dialogue.read(Buffer.concat([frame(data, 0, stream, message), frame(headers, 5, stream, '')]));
    dialogue.ask(0, 0);
    let asked = 1;
    while (dialogue.room() > 0 && asked < 1000) {
      dialogue.ask(asked, 0);
      answer(2 * asked + 1);
      asked += 1;
    }
    // The next one would have the place of the first, and waits for it.
    expect(asked).toBe(16);
    expect(dialogue.unanswered()).toEqual([0]);
    answer(1);
    expect(told).toEqual([...Array.from({ length: 15 }, (_, request) => request + 1), 0]);
    expect(dialogue.room()).toBe(2);
  });

  it('reads only as far as something came', () => {
    const answer = Buffer.concat([frame(data, 0, 1, message), frame(headers, 5, 1, 'trailers')]);
    expect(readInto(open, answer)).toEqual([[0, undefined]]);
  });

  it('takes a call that was reset, cut off, or answered with something else for an error', () => {
    const answer = Buffer.concat([frame(reset, 0, 1, '\0\0\0\x07'), frame(data, 1, 3, 'not a message')]);
    expect(converse(open, [1, 2], answer, 1000).told).toEqual([
      [0, 'the call was reset with code 7'],
      [1, 'the answer has no trailers'],
    ]);
    const page = Buffer.concat([frame(data, 0, 1, '<html>no gRPC here'), frame(headers, 5, 1, '')]);
    expect(converse(open, [1], page, 1000).told).toEqual([[0, 'the answer has no message: it is a gRPC error']]);
  });

  it('acknowledges settings and pings, and keeps to what the other side allows', () => {
    const answer = Buffer.concat([
      frame(settings, 0, 0, '\0\x03\0\0\0\x01'), // one stream at a time
      frame(ping, 0, 0, '12345678'),
      frame(settings, 1, 0, ''),
    ]);
    const { out, dialogue } = converse(open, [], answer, 1000);
    expect(out.take()).toEqual(Buffer.concat([frame(settings, 1, 0, ''), frame(ping, 1, 0, '12345678')]));
    expect(dialogue.room()).toBe(1);
  });
});
