import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SluiceError } from '../vocabulary/errors.ts';
import { frameOf } from './frame.ts';
import { ErrorReply, type Reply, ReplyReader } from './reply-reader.ts';

/** As a server writes it. */
function written(reply: Reply): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (typeof reply === 'string') return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply instanceof ErrorReply) return `-${reply.text}\r\n`;
  return `*${reply.length}\r\n${reply.map(written).join('')}`;
}

function readAll(bytes: Buffer, chunks: readonly number[]): Reply[] {
  const reader = new ReplyReader();
  const found: Reply[] = [];
  let at = 0;
  for (const end of [...chunks, bytes.length]) {
    while (at < end && reader.read(bytes, at, end)) {
      found.push(reader.value);
      at = reader.at;
    }
  }
  return found;
}

const line = fc.string({ maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, ' '));
const { reply: anyReply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    fc.maxSafeInteger().map((value) => value % 1e15),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constant(null),
    line.map((text) => new ErrorReply(text)),
    fc.array(tie('reply'), { maxLength: 5 }),
  ),
}));

describe('replies', () => {
  it('are read as they were written, in whichever pieces they come', () => {
    fc.assert(
      fc.property(fc.array(anyReply, { maxLength: 5 }), fc.array(fc.nat({ max: 200 })), (replies, cuts) => {
        const bytes = Buffer.from(replies.map(written).join(''));
        const chunks = cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b);
        expect(readAll(bytes, chunks)).toEqual(replies.map((reply) => (Object.is(reply, -0) ? 0 : reply)));
      }),
    );
  });

  it('that are none are refused, and never read for ever', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (garbage) => {
        const reader = new ReplyReader();
        const bytes = Buffer.from(garbage);
        let at = 0;
        try {
          while (at < bytes.length && reader.read(bytes, at, bytes.length)) {
            expect(reader.at).toBeGreaterThan(at);
            at = reader.at;
          }
        } catch (error) {
          expect(error).toBeInstanceOf(SluiceError);
        }
      }),
    );
  });

  it.each([
    ['HTTP/1.1 400 Bad Request\r\n', 'begins with byte 72'],
    [':1x\r\n', 'a number that is none'],
    ['*1000000\r\n', 'an array of 1000000'],
    ['$99999999\r\n', 'a text of 99999999 bytes'],
    [`${'*1\r\n'.repeat(20)}:1\r\n`, 'at depth 8'],
  ])('such as %j are refused', (text, message) => {
    const bytes = Buffer.from(text);
    expect(() => new ReplyReader().read(bytes, 0, bytes.length)).toThrow(message);
  });
});

it('commands are written with the lengths of their bytes', () => {
  expect(frameOf(['ECHO', 'grüß'])).toBe('*2\r\n$4\r\nECHO\r\n$6\r\ngrüß\r\n');
});
