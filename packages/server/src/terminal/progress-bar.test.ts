import { TestClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { barText, progressBar } from './progress-bar.ts';

function watched({ isTTY = true } = {}) {
  const clock = new TestClock(0);
  const written: string[] = [];
  const stream = { isTTY, columns: 40, write: (text: string) => written.push(text) };
  return { clock, written, bar: progressBar({ stream, label: 'simulating', now: () => clock.now() }) };
}

const clear = '\r\u001b[2K';

test('a run that ends within half a second shows nothing', () => {
  const { clock, written, bar } = watched();
  bar.update(0.1);
  clock.advance(499);
  bar.update(0.9);
  bar.clear();
  expect(written).toEqual([]);
});

test('a longer one shows how far it is, not more often than an eye follows, and leaves no trace', () => {
  const { clock, written, bar } = watched();
  clock.advance(500);
  bar.update(0.25);
  clock.advance(99);
  bar.update(0.3);
  clock.advance(1);
  bar.update(0.5);
  bar.clear();
  bar.clear();
  expect(written).toEqual([
    `${clear}simulating ━━━━━━────────────────  25 %`,
    `${clear}simulating ━━━━━━━━━━━───────────  50 %`,
    clear,
  ]);
});

test('what is no terminal gets no bar', () => {
  const { clock, written, bar } = watched({ isTTY: false });
  clock.advance(10_000);
  bar.update(0.5);
  bar.clear();
  expect(written).toEqual([]);
});

test('a bar is always narrower than the terminal', () => {
  for (let columns = 5; columns < 120; columns++) {
    for (const ratio of [0, 0.335, 1, 2]) expect(barText('a label', ratio, columns).length).toBeLessThan(columns + 1);
  }
  expect(barText('a label', 1, 12)).toBe('100 %');
});
