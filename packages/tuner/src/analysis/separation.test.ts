import { seededRandom } from 'sluice/testing';
import { expect, test } from 'vitest';
import { type Call, traceOf } from '../trace/trace-of.test-support.ts';
import { separationOf } from './separation.ts';

const hourMs = 3_600_000;

/** Spread over the hour with a step that is no divisor of it, so that no two clients are alike. */
function calls(client: string, count: number, seed: number, overMs = hourMs): Call[] {
  return Array.from({ length: count }, (_, i) => [1 + ((i + ((seed * 0.618034) % 1)) * overMs) / count, client]);
}

const traceOfAll = (each: Call[][]) => traceOf(each.flat().sort(([a], [b]) => a - b));

/** A hundred people who call from 5 to 45 times an hour. */
const people = Array.from({ length: 100 }, (_, i) => calls(`person-${i}`, 5 + ((i * 17) % 41), i));

test('a scanner among people is told from them, in the window in which the gap is widest', () => {
  const scanner = calls('scanner', 6000, 1, 200_000);
  const separation = separationOf(traceOfAll([...people, scanner]));
  expect(separation).toMatchObject({
    isClear: true,
    windowMs: 60_000,
    below: { peak: 1 },
    above: { client: 'scanner', peak: 1800 },
    ratio: 1800,
    limit: 40,
    clientsAbove: 1,
    clientsAboveRatio: 1 / 101,
    callsAbove: 6000,
    abusers: [{ client: 'scanner', peak: 1800, calls: 6000 }],
  });
  if (separation.isClear) expect(separation.callsAboveRatio).toBeCloseTo(6000 / (6000 + people.flat().length));
});

test('several abusers are above together, the busiest first', () => {
  const bots = [900, 1100, 1000].map((count, i) => calls(`bot-${i}`, count, i));
  const separation = separationOf(traceOfAll([...people, ...bots]), [hourMs]);
  expect(separation).toMatchObject({
    isClear: true,
    limit: 200,
    below: { peak: 45 },
    above: { client: 'bot-0', peak: 900 },
    ratio: 20,
    clientsAbove: 3,
  });
  if (separation.isClear) expect(separation.abusers.map(({ client }) => client)).toEqual(['bot-1', 'bot-2', 'bot-0']);
});

test.each<[string, Call[][]]>([
  ['people who call from rarely to often', people],
  ['clients that are all alike', Array.from({ length: 100 }, (_, i) => calls(`client-${i}`, 20, i))],
  // Zipf: the first calls twice as often as the second.
  [
    'numbers that fall off as a power',
    Array.from({ length: 200 }, (_, i) => calls(`c${i}`, Math.ceil(2000 / (i + 1)), i)),
  ],
  [
    'one that calls a few times more than others who call hardly ever',
    [...people.map((_, i) => calls(`p${i}`, 1, i)), calls('x', 4, 7)],
  ],
])('there is none among %s', (_name, clients) => {
  expect(separationOf(traceOfAll(clients))).toMatchObject({
    isClear: false,
    reason: expect.stringContaining('go over into each other'),
  });
});

test('where many are above the gap, that is said', () => {
  const apps = Array.from({ length: 50 }, (_, i) => calls(`app-${i}`, 900, i));
  expect(separationOf(traceOfAll([...people, ...apps]))).toEqual({
    isClear: false,
    reason:
      'There is a gap, but 33% of the clients are above it (20.0 times the rest in an hour): so many are no exception, it is how the service is used.',
  });
});

/** Numbers that fall off as a power, and calls at any time: heavy users, and nobody else. */
function heavyUsers(random: () => number, alpha: number, clients = 400): Call[] {
  const each = Array.from({ length: clients }, (_, client): Call[] => {
    const count = Math.min(20_000, Math.floor(5 / (1 - random()) ** (1 / alpha)));
    return Array.from({ length: count }, () => [Math.floor(random() * 2 * hourMs), `c${client}`]);
  });
  return each.flat();
}

test.each([1.1, 1.5])(
  'heavy users whose numbers fall off as a power of %d are hardly ever taken for abusers',
  (alpha) => {
    const random = seededRandom(7);
    const logs = 60;
    let clear = 0;
    for (let log = 0; log < logs; log += 1)
      if (separationOf(traceOf(heavyUsers(random, alpha)), [1000, 10_000, 60_000, 600_000]).isClear) clear += 1;
    expect(clear / logs).toBeLessThanOrEqual(0.05);
  },
);

test('a scanner among heavy users is told from them', () => {
  const random = seededRandom(11);
  const users = heavyUsers(random, 2);
  const scanner: Call[] = Array.from({ length: 20_000 }, () => [Math.floor(random() * 600_000), 'scanner']);
  expect(separationOf(traceOf([...users, ...scanner]), [1000, 10_000, 60_000, 600_000])).toMatchObject({
    isClear: true,
    clientsAbove: 1,
    above: { client: 'scanner' },
  });
});

test('who is far above the rest but makes hardly any of the calls is not worth a limit', () => {
  const crowd = Array.from({ length: 2000 }, (_, i) => calls(`person-${i}`, 5 + (i % 3), i));
  expect(separationOf(traceOfAll([...crowd, calls('curious', 100, 1)]), [hourMs])).toMatchObject({
    isClear: false,
    reason: expect.stringContaining(
      '1 client is far above the rest (14.3 times in an hour), but with 0.83% of the calls',
    ),
  });
  expect(separationOf(traceOfAll([...crowd, calls('scanner', 3000, 1)]), [hourMs]).isClear).toBe(true);
});

test('in a tiny log the few may be a large share of the clients', () => {
  const three = [calls('scanner', 3000, 1), calls('a', 30, 2), calls('b', 3, 3)];
  expect(separationOf(traceOfAll(three), [hourMs])).toMatchObject({
    isClear: true,
    below: { client: 'a' },
    above: { client: 'scanner' },
    limit: 300,
  });
});

test('there is none with one client only, and none without', () => {
  expect(separationOf(traceOfAll([calls('a', 100, 1)]))).toEqual({
    isClear: false,
    reason: 'There is only one client.',
  });
  expect(separationOf(traceOfAll([]))).toEqual({ isClear: false, reason: 'There are no clients.' });
});
