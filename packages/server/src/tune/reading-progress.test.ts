import { expect, test } from 'vitest';
import { readingProgress } from './reading-progress.ts';

/** A terminal, and a time that stands still until it is told. */
function terminal(isTTY: boolean) {
  const said: string[] = [];
  let nowMs = 0;
  const stream = { isTTY, columns: 80, write: (text: string) => said.push(text) };
  const progress = readingProgress(stream, () => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return progress;
  };
  return { said, at };
}

test('says how far it is and how fast, now and then, and is gone in the end', () => {
  const { said, at } = terminal(true);
  at(100).read(10, 1000, 50_000);
  expect(said).toEqual([]);
  at(1000).read(500, 1000, 370_000);
  at(1050).read(510, 1000, 380_000);
  at(2000).read(1000, 1000, 800_000);
  at(2000).clear();
  expect(said).toHaveLength(3);
  expect(said[0]!.replace('\r\u001b[2K', '')).toMatch(/^reading ━+─+ {2,}50 % {2}370,000 lines, 370,000\/s$/);
  expect(said[1]).toContain('800,000 lines, 400,000/s');
  expect(said[2]).toBe('\r\u001b[2K');
  for (const line of said) expect(line.length).toBeLessThan(80 + 5);
});

test('of a pipe it knows no end', () => {
  const { said, at } = terminal(true);
  at(1000).read(500, undefined, 370_000);
  expect(said).toEqual(['\r\u001b[2Kreading  370,000 lines, 370,000/s']);
});

test('a file hears nothing', () => {
  const { said, at } = terminal(false);
  at(1000).read(500, 1000, 370_000);
  at(1000).clear();
  expect(said).toEqual([]);
});
