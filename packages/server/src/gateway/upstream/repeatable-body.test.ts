import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BodyReader } from '../exchange.ts';
import type { Framing } from '../wire/message.ts';
import { type Collecting, RepeatableBody } from './repeatable-body.ts';
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

describe('a body that is collected first', () => {
  const collected = (source: MemoryBody, framing: Framing, mostBytes: number, all: Collecting = { bytes: 0 }) => {
    const body = new RepeatableBody(source, framing, mostBytes);
    let isDone = false;
    body.collect(all, () => {
      isDone = true;
    });
    return { body, all, isDone: () => isDone };
  };

  it('is there once it is whole, and is read from its start as often as one likes', () => {
    const source = new MemoryBody().give('hel');
    const { body, all, isDone } = collected(source, 5, 5);
    expect([isDone(), all.bytes]).toEqual([false, 3]);
    source.give('lo').end(['x', '1']);
    expect([isDone(), all.bytes, body.isBegun, body.hasFailed]).toEqual([true, 0, true, false]);
    for (let i = 0; i < 2; i += 1) {
      const { told, read } = reader();
      body.read(told);
      expect(read()).toEqual(['hello', 'end x,1']);
    }
  });

  it('is there once it is as much as is kept, and nothing of it is lost', () => {
    const source = new MemoryBody().give('hel').give('lo, you').give(' there').end();
    const { body, all, isDone } = collected(source, 'chunked', 5);
    expect([isDone(), all.bytes, source.isPaused, source.waitingParts]).toEqual([true, 0, true, 2]);
    // Nobody has got it yet.
    expect(body.isRepeatable).toBe(true);
    const { told, read } = reader();
    body.read(told);
    expect(read()).toEqual(['hello, you there', 'end ']);
    expect(body.isRepeatable).toBe(false);
  });

  it('is there with its first bytes where too much is held of others', () => {
    const all = { bytes: 64 * 1024 * 1024 - 4 };
    const source = new MemoryBody().give('hel').give('lo').give('!').end();
    const { body, isDone } = collected(source, 6, 100, all);
    expect([isDone(), source.waitingParts, all.bytes]).toEqual([true, 2, 64 * 1024 * 1024 - 4]);
    const { told, read } = reader();
    body.read(told);
    expect([...read(), body.isRepeatable]).toEqual(['hello!', 'end ', true]);
  });

  it('says so when it breaks off, or is not waited for any longer', () => {
    const broken = collected(new MemoryBody().give('hel').fail(new Error('gone')), 5, 5);
    expect([broken.isDone(), broken.body.hasFailed, broken.all.bytes]).toEqual([true, true, 0]);
    const left = collected(new MemoryBody().give('hel'), 5, 5);
    left.body.stopCollecting();
    expect([left.isDone(), left.body.hasFailed, left.all.bytes]).toEqual([true, false, 0]);
  });
});
