import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BodyReader } from '../exchange.ts';
import { RepeatableBody } from './repeatable-body.ts';
import { MemoryBody } from './upstream.test-support.ts';

function reader() {
  let text = '';
  let end: string | undefined;
  const told: BodyReader = {
    chunk: (bytes) => {
      text += bytes.toString('latin1');
    },
    end: (trailers) => {
      end = `end ${trailers}`;
    },
    failed: (error) => {
      end = error.message;
    },
  };
  return { told, read: () => [text, end] };
}

describe('a body', () => {
  it('is read again from its start, trailers too', () => {
    const body = new RepeatableBody(new MemoryBody().give('hel').give('lo').end(['x', '1']), 'chunked', 5);
    for (let i = 0; i < 3; i += 1) {
      const { told, read } = reader();
      body.read(told);
      expect(read()).toEqual(['hello', 'end x,1']);
      expect(body.isRepeatable).toBe(true);
    }
  });

  it('is not kept beyond its bound, and the attempt under way gets all of it', () => {
    const source = new MemoryBody().give('hello');
    const body = new RepeatableBody(source, 'chunked', 5);
    const { told, read } = reader();
    body.read(told);
    expect(body.isRepeatable).toBe(true);
    source.give('!').end();
    expect(read()).toEqual(['hello!', 'end ']);
    expect(body.isRepeatable).toBe(false);
    expect(() => body.read(told)).toThrow('More than 5 bytes');
  });

  it('that nobody has read is repeatable, whatever the bound', () => {
    const body = new RepeatableBody(new MemoryBody().give('hello').end(), 5, 0);
    expect([body.isRepeatable, body.isBegun, body.isNone]).toEqual([true, false, false]);
  });

  it('that is none says so', () => {
    const body = new RepeatableBody(undefined, 0, 0);
    expect([body.isRepeatable, body.isNone]).toEqual([true, true]);
    expect(() => body.read(reader().told)).toThrow('no body');
  });

  it('makes the client wait between two attempts', () => {
    const source = new MemoryBody().give('a');
    const body = new RepeatableBody(source, 'chunked', 100);
    const first = reader();
    body.read(first.told);
    body.leave();
    expect(source.isPaused).toBe(true);
    source.give('b').end();
    const second = reader();
    body.read(second.told);
    expect([first.read(), second.read()]).toEqual([
      ['a', undefined],
      ['ab', 'end '],
    ]);
  });

  it('that failed between two attempts says so to the next', () => {
    const source = new MemoryBody().give('a');
    const body = new RepeatableBody(source, 'chunked', 100);
    body.read(reader().told);
    source.fail(new Error('it broke off'));
    body.leave();
    const { told, read } = reader();
    body.read(told);
    expect(read()).toEqual(['a', 'it broke off']);
  });

  it('stays paused when the new reader paused it while it got what was kept', () => {
    const source = new MemoryBody().give('a');
    const body = new RepeatableBody(source, 'chunked', 100);
    body.read(reader().told);
    body.leave();
    body.read({ ...reader().told, chunk: () => body.pause() });
    expect(source.isPaused).toBe(true);
    body.resume();
    expect(source.isPaused).toBe(false);
  });

  it('is the same for every reader, wherever the ones before it left', () => {
    const pieces = fc.array(fc.stringMatching(/^[a-z]{0,9}$/), { maxLength: 10 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(10), { maxLength: 4 }), (given, leaves) => {
        const source = new MemoryBody();
        const body = new RepeatableBody(source, 'chunked', 1000);
        const waiting = [...given];
        for (const leave of leaves) {
          const { told, read } = reader();
          body.read(told);
          for (const piece of waiting.splice(0, leave)) source.give(piece);
          expect(read()[0]).toBe(given.slice(0, given.length - waiting.length).join(''));
          body.leave();
        }
        const { told, read } = reader();
        body.read(told);
        for (const piece of waiting) source.give(piece);
        source.end();
        expect(read()).toEqual([given.join(''), 'end ']);
      }),
    );
  });
});
