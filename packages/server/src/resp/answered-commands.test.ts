import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnsweredCommands } from './answered-commands.ts';

/** Commands here are texts whose first letter is their id. */
function open(options: { entries?: number; bytes?: number; replayMs?: number }) {
  const answered = new AnsweredCommands(options);
  const hashOf = (bytes: Buffer) => answered.hash(bytes, 0, 1);
  return {
    add(command: string, reply: string, nowMs = 0) {
      const bytes = Buffer.from(command);
      answered.add(hashOf(bytes), bytes, 0, bytes.length, Buffer.from(reply), nowMs);
    },
    find(command: string, nowMs = 0) {
      const bytes = Buffer.from(command);
      return answered.find(hashOf(bytes), bytes, 0, bytes.length, nowMs)?.toString();
    },
  };
}

describe('answers', () => {
  it('are given again to the same bytes, and to no others', () => {
    const { add, find } = open({});
    add('a one', 'first');
    add('a two', 'second');
    expect([find('a one'), find('a two'), find('a on'), find('a one!'), find('b one')]).toEqual([
      'first',
      'second',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are forgotten when their time is up', () => {
    const { add, find } = open({ replayMs: 1000 });
    add('a', 'x', 500);
    expect([find('a', 1500), find('a', 1501)]).toEqual(['x', undefined]);
  });

  it('that would fill the memory are not kept', () => {
    const { add, find } = open({ bytes: 640 });
    add('a large one', 'x');
    expect(find('a large one')).toBeUndefined();
  });

  it('are the latest so many, each as it was written', () => {
    const command = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 999 }));
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 200 }), (commands) => {
        const { add, find } = open({ entries: 16, bytes: 64 * 16 });
        const reference: [command: string, reply: string][] = [];
        for (const [i, [id, what]] of commands.entries()) {
          const text = `${id} ${what}`;
          const known = reference.find(([own]) => own === text)?.[1];
          expect(find(text)).toBe(known);
          if (known !== undefined) continue;
          add(text, `reply ${i}`);
          reference.unshift([text, `reply ${i}`]);
          reference.length = Math.min(reference.length, 16);
        }
      }),
    );
  });
});
