import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyDecoder, checkBodyLength } from './body-decoder.ts';
import { chunkEnd, chunkHead, lastChunk } from './chunk.ts';
import { BadMessage, type Framing } from './message.ts';
import { CollectedBody } from './read-messages.test-support.ts';

const limits = { headBytes: 200, headers: 3, bodyBytes: 100 };

function decoded(framing: Framing, pieces: readonly Buffer[], bodyBytes = limits.bodyBytes) {
  const decoder = new BodyDecoder(framing, { ...limits, bodyBytes });
  const body = new CollectedBody();
  let rest = '';
  for (const piece of pieces) {
    const used = decoder.isDone ? 0 : decoder.read(piece, 0, body);
    rest += piece.toString('latin1', used);
  }
  return { text: body.text, trailers: body.trailers, ends: body.ends, isDone: decoder.isDone, rest };
}
const whole = (framing: Framing, text: string) => decoded(framing, [Buffer.from(text, 'latin1')]);

describe('a body of a length', () => {
  it('ends there, and what follows is not its own', () => {
    expect(whole(5, 'helloGET')).toEqual({ text: 'hello', trailers: [], ends: 1, isDone: true, rest: 'GET' });
  });

  it('is unfinished until all has come', () => {
    expect(whole(5, 'hell')).toMatchObject({ text: 'hell', ends: 0, isDone: false });
  });

  it('is read from the middle of what has come, without a copy', () => {
    const bytes = Buffer.from('xxhelloyy');
    const decoder = new BodyDecoder(5, limits);
    const seen: Buffer[] = [];
    const used = decoder.read(bytes, 2, { chunk: (piece) => seen.push(piece), end: () => {}, failed: () => {} });
    expect(used).toBe(7);
    expect(seen[0]?.buffer).toBe(bytes.buffer);
    expect(seen.join()).toBe('hello');
  });

  it('of 0 is done before it is read, and says so once to the first reader', () => {
    const decoder = new BodyDecoder(0, limits);
    const body = new CollectedBody();
    expect(decoder.isDone).toBe(true);
    expect(decoder.read(Buffer.from('GET'), 1, body)).toBe(1);
    expect(decoder.read(Buffer.alloc(0), 0, body)).toBe(0);
    expect(body).toMatchObject({ text: '', ends: 1, trailers: [] });
  });

  it('above the limit is refused before a byte of it is taken, by whoever asks first', () => {
    const body = new CollectedBody();
    const tooLarge = expect.objectContaining({ status: 413 });
    expect(() => checkBodyLength(101, 100)).toThrow(tooLarge);
    expect(() => new BodyDecoder(101, limits).read(Buffer.from('x'), 0, body)).toThrow(tooLarge);
    expect(body.text).toBe('');
    expect(() => checkBodyLength(100, 100)).not.toThrow();
    expect(whole(100, 'x'.repeat(100)).isDone).toBe(true);
    checkBodyLength('chunked', 0);
  });
});

describe('a body until the connection ends', () => {
  it('takes everything, and ends with it', () => {
    const decoder = new BodyDecoder('until-close', limits);
    const body = new CollectedBody();
    expect(decoder.read(Buffer.from('xhello'), 1, body)).toBe(6);
    expect(decoder.isDone).toBe(false);
    decoder.connectionEnded(body);
    expect(decoder.isDone).toBe(true);
    expect(body).toMatchObject({ text: 'hello', ends: 1, fault: undefined });
  });

  it('has a limit too', () => {
    expect(() => whole('until-close', 'x'.repeat(101))).toThrow(expect.objectContaining({ status: 413 }));
    expect(decoded('until-close', [Buffer.alloc(101)], Number.POSITIVE_INFINITY).text).toHaveLength(101);
  });
});

describe('chunks', () => {
  it('come out of their frames, and trailers behind them', () => {
    expect(whole('chunked', '5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nX-A: 1\r\n\r\nGET')).toEqual({
      text: 'hello!',
      trailers: ['x-a', '1'],
      ends: 1,
      isDone: true,
      rest: 'GET',
    });
  });

  it('are the same however they were cut', () => {
    const text = Buffer.from('2\r\nhe\r\n00003;a="b;\\"c"\r\nllo\r\n0\r\nX-A: 1\r\nX-B:\r\n\r\nGET');
    const expected = decoded('chunked', [text]);
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const pieces = [text.subarray(0, first), text.subarray(first, second), text.subarray(second)];
        expect(decoded('chunked', pieces)).toEqual(expected);
      }
    }
    expect(
      decoded(
        'chunked',
        [...text].map((byte) => Buffer.of(byte)),
      ),
    ).toEqual(expected);
  });

  it('of any sizes, cut anywhere, come out as they were framed', () => {
    const trailerName = fc.constantFrom('x-a', 'x-sum', 'grpc-status');
    const trailerValue = fc.stringMatching(/^([!-~]([ -~]{0,8}[!-~])?)?$/);
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 5 }),
        fc.array(fc.tuple(trailerName, trailerValue), { maxLength: 3 }),
        fc.array(fc.nat(400), { maxLength: 8 }),
        (chunks, trailers, cuts) => {
          const framed = Buffer.concat([
            ...chunks.flatMap((chunk) => [Buffer.from(chunkHead(chunk.length)), chunk, Buffer.from(chunkEnd)]),
            Buffer.from(lastChunk(trailers.flat())),
            Buffer.from('next'),
          ]);
          const places = [0, ...cuts.map((cut) => Math.min(cut, framed.length)).sort((a, b) => a - b), framed.length];
          const pieces = places.slice(1).map((end, index) => framed.subarray(places[index], end));
          expect(decoded('chunked', pieces, 1000)).toEqual({
            text: Buffer.concat(chunks).toString('latin1'),
            trailers: trailers.flat(),
            ends: 1,
            isDone: true,
            rest: 'next',
          });
        },
      ),
    );
  });

  it.each([
    'Authorization',
    'X-Forwarded-For',
    'x_forwarded_for',
    'X-Real_IP',
    'X_Real.IP',
    'True-Client-IP',
    'Forwarded',
  ])('lose a trailer %s, that would say who the client is when nobody looks any more', (name) => {
    expect(whole('chunked', `0\r\n${name}: 1\r\nX-A: 1\r\n\r\n`).trailers).toEqual(['x-a', '1']);
  });

  it('are limited in their extensions by what they carry, all of one body together', () => {
    const chunk = `1;a=${'b'.repeat(60)}\r\nx\r\n`;
    expect(whole('chunked', `${chunk.repeat(3)}0\r\n\r\n`).text).toBe('xxx');
    expect(() => whole('chunked', `${chunk.repeat(4)}0\r\n\r\n`)).toThrow(BadMessage);
    const signed = Buffer.from(`40;a=${'b'.repeat(60)}\r\n${'x'.repeat(64)}\r\n`.repeat(100));
    expect(decoded('chunked', [signed], 10_000).text).toHaveLength(6400);
  });

  it('are limited in their trailers, though they come byte by byte', () => {
    const bytes = [...Buffer.from(`0\r\nX-A: ${'a'.repeat(300)}`)].map((byte) => Buffer.of(byte));
    expect(() => decoded('chunked', bytes)).toThrow(expect.objectContaining({ status: 431 }));
    const lines = (count: number) => `0\r\n${'X-A: 1\r\n'.repeat(count)}\r\n`;
    expect(whole('chunked', lines(3)).trailers).toHaveLength(6);
    expect(() => whole('chunked', lines(4))).toThrow(expect.objectContaining({ status: 431 }));
  });

  it('give what came before the fault', () => {
    const decoder = new BodyDecoder('chunked', limits);
    const body = new CollectedBody();
    expect(() => decoder.read(Buffer.from('5\r\nhello\r\nx'), 0, body)).toThrow(BadMessage);
    expect(body).toMatchObject({ text: 'hello', ends: 0 });
  });
});

describe('a body that is not one', () => {
  it('stays refused, whatever comes then', () => {
    const decoder = new BodyDecoder('chunked', limits);
    const body = new CollectedBody();
    expect(() => decoder.read(Buffer.from('x'), 0, body)).toThrow(BadMessage);
    expect(() => decoder.read(Buffer.from('0\r\n\r\n'), 0, body)).toThrow(BadMessage);
    expect(body.ends).toBe(0);
  });

  it.each<[Framing, string]>([
    [5, 'hell'],
    ['chunked', ''],
    ['chunked', '5\r\nhello\r\n'],
    ['chunked', '0\r\n'],
    ['chunked', '0\r\nX-A: 1\r\n'],
  ])('%s, cut off after %j: its reader is told', (framing, text) => {
    const decoder = new BodyDecoder(framing, limits);
    const body = new CollectedBody();
    decoder.read(Buffer.from(text), 0, body);
    decoder.connectionEnded(body);
    expect(body.fault).toBeInstanceOf(BadMessage);
    expect(body.ends).toBe(0);
    expect(() => decoder.read(Buffer.from('o\r\n'), 0, body)).toThrow(BadMessage);
  });

  it('whose end came is whole when the connection ends', () => {
    const decoder = new BodyDecoder(5, limits);
    const body = new CollectedBody();
    decoder.read(Buffer.from('hello'), 0, body);
    decoder.connectionEnded(body);
    expect(body).toMatchObject({ ends: 1, fault: undefined });
  });
});
