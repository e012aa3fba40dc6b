import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineCutter, longestLineBytes } from './lines.ts';

function cut(chunks: readonly Uint8Array[]): [text: string, isCut: boolean][] {
  const lines: [string, boolean][] = [];
  const cutter = new LineCutter((bytes, start, end, isCut) => {
    lines.push([Buffer.from(bytes.subarray(start, end)).toString('latin1'), isCut]);
  });
  for (const chunk of chunks) cutter.push(chunk);
  cutter.end();
  return lines;
}

const texts = (...parts: string[]) => cut(parts.map((part) => Buffer.from(part, 'latin1'))).map(([text]) => text);

describe('lines', () => {
  it('end with LF, with CRLF, or with the log', () => {
    expect(texts('a\nb\r\n\nc')).toEqual(['a', 'b', '', 'c']);
    expect(texts('a\n')).toEqual(['a']);
    expect(texts('')).toEqual([]);
    expect(texts('\r\n\r')).toEqual(['', '']);
    expect(texts('a\rb\n')).toEqual(['a\rb']);
  });

  it('are the same wherever the chunks were cut', () => {
    const log = fc.array(fc.constantFrom('a', 'bc', '\n', '\n', '\r\n', '\r', '', '\u00e9'), { maxLength: 40 });
    fc.assert(
      fc.property(log, fc.array(fc.nat(60), { maxLength: 10 }), (parts, cuts) => {
        const text = parts.join('');
        const places = [0, ...cuts.map((place) => Math.min(place, text.length)), text.length].sort((a, b) => a - b);
        const chunks = places.slice(1).map((end, i) => text.slice(places[i], end));
        expect(texts(...chunks)).toEqual(texts(text));
        expect(texts(...text)).toEqual(texts(text));
      }),
      { numRuns: 300 },
    );
  });

  it('are cut off where they are too long, and say so, in one chunk as in many', () => {
    const rows: [bytes: number, isCut: boolean][] = [
      [longestLineBytes, false],
      [longestLineBytes + 1, true],
      [longestLineBytes * 3 + 17, true],
    ];
    for (const [bytes, isCut] of rows) {
      const log = Buffer.from(`before\n${'x'.repeat(bytes)}\nbehind\n`);
      const chunks = Array.from({ length: Math.ceil(log.length / 10_000) }, (_, i) =>
        log.subarray(i * 10_000, (i + 1) * 10_000),
      );
      const expected = [
        ['before', false],
        ['x'.repeat(Math.min(bytes, longestLineBytes)), isCut],
        ['behind', false],
      ];
      expect(cut([log])).toEqual(expected);
      expect(cut(chunks)).toEqual(expected);
    }
  });
});
