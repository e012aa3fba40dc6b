import { expect, test } from 'vitest';
import { Departures } from './departures.ts';

function departures() {
  const clock = { nowMs: 0 };
  const known = new Departures(() => clock.nowMs, 'prefix');
  const sendOthers = (count: number) => {
    for (let i = 0; i < count; i += 1) known.of(`other ${clock.nowMs} ${i}`, true).firstSentMs = clock.nowMs;
  };
  return { clock, known, sendOthers };
}

test('an id that is sent again left when it left first', () => {
  const { clock, known, sendOthers } = departures();
  const first = known.of('id', true);
  first.firstSentMs = 0;
  sendOthers(15_000);
  clock.nowMs = 7000;
  expect(known.of('id', true)).toBe(first);
  expect(first.sentAs).toBe('id');
});

test('an id that was forgotten among too many is another one to servers, which may remember what they granted it', () => {
  const { clock, known, sendOthers } = departures();
  known.of('id', true).firstSentMs = 0;
  sendOthers(21_000);
  clock.nowMs = 7000;
  const second = known.of('id', true);
  expect(second.firstSentMs).toBeNaN();
  expect(second.sentAs).not.toBe('id');
  expect(known.of('id', true)).toBe(second);
  sendOthers(21_000);
  expect([second.sentAs, 'id']).not.toContain(known.of('id', true).sentAs);
});

test('what only gives back keeps its id: it must not be done twice', () => {
  const { known, sendOthers } = departures();
  known.of('id', false);
  sendOthers(30_000);
  expect(known.of('id', false).sentAs).toBe('id');
});

test('what no server remembers is forgotten, and may come again as it is', () => {
  const { clock, known, sendOthers } = departures();
  known.of('id', true).firstSentMs = 0;
  for (let i = 0; i < 3; i += 1) {
    clock.nowMs += 100_000;
    sendOthers(1);
  }
  expect(known.of('id', true)).toMatchObject({ firstSentMs: Number.NaN, sentAs: 'id' });
});
