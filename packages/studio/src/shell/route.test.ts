import { expect, test } from 'vitest';
import { parseRoute, routeHash } from './route.ts';

const rows: [hash: string, view: string, query: string][] = [
  ['', 'playground', ''],
  ['#/live', 'live', ''],
  ['#/tuner?key=user', 'tuner', 'key=user'],
  ['#/nonsense?limit=3', 'playground', 'limit=3'],
  ['#playground?limit=3', 'playground', 'limit=3'],
  ['#/playground?limit=%F0', 'playground', 'limit=%EF%BF%BD'],
];

test.each(rows)('%s is %s with "%s"', (hash, view, query) => {
  const route = parseRoute(hash);
  expect([route.view, route.query.toString()]).toEqual([view, query]);
});

test('an address that was written is read back', () => {
  const query = new URLSearchParams({ limit: '10', window: '10s', shape: 'a&b' });
  expect(parseRoute(routeHash('playground', query)).query.toString()).toBe(query.toString());
});
