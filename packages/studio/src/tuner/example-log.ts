/**
 * An hour of made-up traffic in nginx's combined format, for those who have no log at hand: people who browse, a few clients that poll by a timer, and a
 * scanner that is much faster than any of them. Seeded: everybody gets the same.
 */
import { type Arrival, merge, onOff, poisson, steady, zipfKeys } from '@sluice/simulator';

const untilMs = 3_600_000;
// Any day will do; this one is easily recognised as made up.
const startMs = Date.UTC(2026, 0, 1, 12);

export function exampleLog(): File {
  const people = zipfKeys(poisson(6, { untilMs, seed: 1 }), { count: 400, exponent: 0.7, seed: 2 });
  const timers = [1, 2, 3, 4, 5].map((i) => steady(0.2 * i, { untilMs, fromMs: 300 * i, key: `10.1.0.${i}` }));
  const scanner = onOff(poisson(25, { untilMs, key: '203.0.113.66', seed: 3 }), {
    onMs: 240_000,
    offMs: 1_500_000,
    fromMs: 600_000,
  });
  const lines: string[] = [];
  for (const arrival of merge(people, ...timers, scanner)) lines.push(lineOf(arrival));
  return new File(lines, 'example-access.log', { type: 'text/plain' });
}

const paths = ['/', '/search', '/cart', '/items', '/login', '/api/orders'];

function lineOf({ atMs, key }: Arrival): string {
  const rank = /^client-(\d+)$/.exec(key)?.[1];
  const address = rank === undefined ? key : addressOf(Number(rank));
  const path = paths[Math.floor(atMs / 7) % paths.length];
  return `${address} - - [${timeText(startMs + atMs)}] "GET ${path} HTTP/1.1" 200 512 "-" "example"\n`;
}

function addressOf(rank: number): string {
  return `198.51.${100 + Math.floor(rank / 200)}.${rank % 200}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function timeText(ms: number): string {
  const date = new Date(ms);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${two(date.getUTCDate())}/${months[date.getUTCMonth()]}/${date.getUTCFullYear()}`;
  return `${day}:${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}
