import { describe, expect, it } from 'vitest';
import { Outgoing } from './outgoing.ts';

/** A socket of which the system takes everything at once, or nothing yet. */
function socketThat(takesAll: boolean) {
  const written: Uint8Array[] = [];
  return {
    written,
    writableLength: 0,
    write(bytes: Uint8Array | string) {
      written.push(bytes as Uint8Array);
      if (!takesAll) this.writableLength += bytes.length;
      return true;
    },
  };
}

const texts = (written: readonly Uint8Array[]) => written.map((bytes) => Buffer.from(bytes).toString());

describe('what is to be sent', () => {
  it('goes out with one write, and the buffer is used again once the system has it', () => {
    const out = new Outgoing();
    const socket = socketThat(true);
    const { bytes } = out;
    out.append(Buffer.from('one '));
    out.append(Buffer.from('two'));
    out.writeTo(socket);
    expect(texts(socket.written)).toEqual(['one two']);
    out.append(Buffer.from('six '));
    out.append(Buffer.from('ten'));
    out.writeTo(socket);
    expect(out.bytes).toBe(bytes);
    // No new view of the same bytes either.
    expect(socket.written[1]).toBe(socket.written[0]);
    expect(texts(socket.written.slice(1))).toEqual(['six ten']);
  });

  it('stays as it was for a socket that keeps it', () => {
    const out = new Outgoing();
    const socket = socketThat(false);
    out.append(Buffer.from('kept'));
    out.writeTo(socket);
    out.append(Buffer.from('next'));
    out.writeTo(socket);
    expect(texts(socket.written)).toEqual(['kept', 'next']);
  });

  it('is as long as what was written, after something longer and in a buffer that has grown', () => {
    const out = new Outgoing();
    const socket = socketThat(true);
    for (const length of [3, 5000, 3]) {
      out.append(Buffer.alloc(length, 'x'));
      out.writeTo(socket);
    }
    expect(socket.written.map((bytes) => bytes.length)).toEqual([3, 5000, 3]);
  });
});
