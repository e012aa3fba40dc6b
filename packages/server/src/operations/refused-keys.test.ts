import fc from 'fast-check';
import { TestClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import type { RefusedKey } from '../service/service.ts';
import { refusedKeys, topRefused } from './refused-keys.ts';

const minuteMs = 60_000;

/** What a sketch is compared with. */
function exactly(events: readonly (readonly [rule: string, key: string])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [rule, key] of events) counts.set(`${rule} ${key}`, (counts.get(`${rule} ${key}`) ?? 0) + 1);
  return counts;
}

function expectPromises(told: readonly RefusedKey[], truth: Map<string, number>, counters: number): void {
  const total = [...truth.values()].reduce((sum, count) => sum + count, 0);
  for (const { rule, key, refusals, error } of told) {
    const count = truth.get(`${rule} ${key}`) ?? 0;
    expect(count).toBeLessThanOrEqual(refusals);
    expect(count).toBeGreaterThanOrEqual(refusals - error);
    expect(error).toBeLessThanOrEqual(total / counters);
  }
  const names = told.map(({ rule, key }) => `${rule} ${key}`);
  expect(new Set(names).size, 'each key once').toBe(names.length);
  for (const [name, count] of truth) if (count > total / counters) expect(names).toContain(name);
  const order = told.map(({ refusals }) => refusals);
  expect(order).toEqual([...order].sort((a, b) => b - a));
}

// Few keys come often and many come seldom, as refusals do.
const event = fc.tuple(
  fc.constantFrom('per-ip', 'per-user'),
  fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'c') },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }).map(String) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }) },
  ),
);
const events = fc.array(event, { maxLength: 400 });
const counters = fc.integer({ min: 1, max: 24 });

describe('what a count promises, against exact counts', () => {
  test('in one window', () => {
    fc.assert(
      fc.property(events, counters, (list, k) => {
        const sketch = refusedKeys({ counters: k, clock: new TestClock(0) });
        for (const [rule, key] of list) sketch.count(rule, key);
        expectPromises(sketch.top(Number.POSITIVE_INFINITY), exactly(list), k);
      }),
    );
  });

  test('in two windows, of several threads', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(events, events), { minLength: 1, maxLength: 3 }), counters, (threads, k) => {
        const data = threads.flatMap(([earlier, later]) => {
          const clock = new TestClock(0);
          const sketch = refusedKeys({ counters: k, windowMs: minuteMs, clock });
          for (const [rule, key] of earlier) sketch.count(rule, key);
          clock.advance(minuteMs);
          for (const [rule, key] of later) sketch.count(rule, key);
          return sketch.read();
        });
        expectPromises(topRefused(data, Number.POSITIVE_INFINITY), exactly(threads.flat(2)), k);
      }),
    );
  });

  test('bytes count as the text they are', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.boolean()), { maxLength: 200 }), counters, (list, k) => {
        const byText = refusedKeys({ counters: k, clock: new TestClock(0) });
        const mixed = refusedKeys({ counters: k, clock: new TestClock(0) });
        for (const [[rule, key], isBytes] of list) {
          byText.count(rule, key);
          const bytes = Buffer.from(`<${key}>`);
          if (isBytes) mixed.countBytes(rule, bytes, 1, bytes.length - 1);
          else mixed.count(rule, key);
        }
        expect(mixed.top(99)).toEqual(byText.top(99));
      }),
    );
  });
});

test('is exact while there are counters for all', () => {
  const sketch = refusedKeys({ counters: 3, clock: new TestClock(0) });
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) sketch.count('per-ip', key);
  expect(sketch.top(2)).toEqual([
    { rule: 'per-ip', key: 'a', refusals: 3, error: 0 },
    { rule: 'per-ip', key: 'b', refusals: 2, error: 0 },
  ]);
});

test('finds the one who hammers in a flood of keys that come once', () => {
  const sketch = refusedKeys({ counters: 16, clock: new TestClock(0) });
  for (let i = 0; i < 20_000; i += 1) {
    sketch.count('per-ip', `stranger ${i}`);
    if (i % 10 === 0) sketch.count('per-ip', '203.0.113.7');
  }
  const [first] = sketch.top(1);
  expect(first?.key).toBe('203.0.113.7');
  expect(first?.refusals).toBeGreaterThanOrEqual(2000);
  expect(sketch.top(1000)).toHaveLength(16);
});

test('a key of two rules is two keys', () => {
  const sketch = refusedKeys({ clock: new TestClock(0) });
  sketch.count('per-ip', 'x');
  sketch.count('per-user', 'x');
  expect(sketch.top(9).map(({ rule }) => rule)).toEqual(['per-ip', 'per-user']);
});

test('lately: the window before and this one, nothing older', () => {
  const clock = new TestClock(0);
  const sketch = refusedKeys({ windowMs: minuteMs, clock });
  const keys = () => sketch.top(9).map(({ key, refusals }) => `${key} ${refusals}`);
  sketch.count('r', 'old');
  clock.advance(minuteMs);
  sketch.count('r', 'new');
  expect(keys()).toEqual(['new 1', 'old 1']);
  clock.advance(minuteMs - 1);
  expect(keys()).toEqual(['new 1', 'old 1']);
  clock.advance(1);
  expect(keys()).toEqual(['new 1']);
  sketch.count('r', 'new');
  expect(keys()).toEqual(['new 2']);
  clock.advance(10 * minuteMs);
  expect(keys()).toEqual([]);
});

test('a clock that steps back forgets nothing', () => {
  const clock = new TestClock(10 * minuteMs);
  const sketch = refusedKeys({ windowMs: minuteMs, clock });
  sketch.count('r', 'a');
  clock.set(0);
  sketch.count('r', 'a');
  expect(sketch.top(1)).toEqual([{ rule: 'r', key: 'a', refusals: 2, error: 0 }]);
});

describe('keys that are no ordinary text', () => {
  const top = (act: (sketch: ReturnType<typeof refusedKeys>) => void) => {
    const sketch = refusedKeys({ clock: new TestClock(0) });
    act(sketch);
    act(sketch);
    return sketch.top(9).map(({ key, refusals }) => [key, refusals] as const);
  };

  test('a long key is shown by its beginning and a hash, and stays itself', () => {
    const long = 'k'.repeat(5000);
    const [[first, count] = ['', 0], [second] = ['']] = top((sketch) => {
      sketch.count('r', `${long}1`);
      sketch.count('r', `${long}2`);
    });
    expect(count).toBe(2);
    expect(first).toMatch(/^k{96}…[0-9a-f]{16}$/);
    expect(second).toMatch(/^k{96}…[0-9a-f]{16}$/);
    expect(first).not.toBe(second);
  });

  test('a long key of bytes is the same key as its text', () => {
    const key = 'é'.repeat(2000);
    expect(
      top((sketch) => {
        sketch.count('r', key);
        sketch.countBytes('r', Buffer.from(key), 0, Buffer.byteLength(key));
      }).map(([, count]) => count),
    ).toEqual([4]);
  });

  test.each<[string, number[], string]>([
    ['NUL', [0], '\0'],
    ['no text at all', [0xff, 0xfe], 'hex:fffe'],
    ['the replacement character itself', [0xef, 0xbf, 0xbd], '\ufffd'],
    ['nothing', [], ''],
  ])('%s', (_, bytes, shown) => {
    expect(top((sketch) => sketch.countBytes('r', Uint8Array.from(bytes), 0, bytes.length))).toEqual([[shown, 2]]);
  });

  test('half of a surrogate pair', () => {
    expect(top((sketch) => sketch.count('r', '\ud800'))).toEqual([['\ud800', 2]]);
  });
});

test('refuses a number of counters that it cannot have', () => {
  for (const counters of [0, 1.5, Number.NaN, 1e9]) {
    expect(() => refusedKeys({ counters })).toThrow(
      `counters must be a whole number from 1 to 65536, got ${counters}.`,
    );
  }
});
