// What nginx's limit_req answers: the statuses of its own tests (nginx-tests, limit_req*.t), and its accounting, which
// counts thousandths of a request on a clock of whole milliseconds.
import { describe, expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { type RulesResult, rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type LeakyBucketOptions, leakyBucket } from './leaky-bucket.ts';

type Delay = NonNullable<LeakyBucketOptions['delay']>;

const second = 1000;
const minute = 60_000;

/** A `limit_req_zone` and the `limit_req` that uses it. */
interface Zone {
  readonly key: string;
  readonly rate: readonly [requests: number, per: number];
  readonly burst: number;
  readonly delay: Delay;
}

interface Trace {
  readonly name: string;
  readonly zones: readonly Zone[];
  readonly rows: readonly (readonly [
    atMs: number,
    keys: Readonly<Record<string, string>>,
    status: 200 | 503,
    delayMs?: number,
  ])[];
}

function policyOf({ rate: [limit, window], burst, delay }: Omit<Zone, 'key'>) {
  return leakyBucket({ limit, window, burst, delay });
}

function rulesOf(zones: readonly Zone[], clock: TestClock) {
  return rules(
    zones.map((zone) => ({ name: zone.key, key: zone.key, policy: policyOf(zone) })),
    { clock },
  );
}

/** The largest delay of several zones wins. */
function delayOf({ decisions }: RulesResult): number {
  return Math.max(0, ...decisions.map(({ delayMs }) => delayMs));
}

const client = { client: '192.0.2.1' };
const twoASecond: Zone = { key: 'client', rate: [2, second], burst: 1, delay: 'none' };
const fastAndSlow: readonly Zone[] = [
  { key: 'b', rate: [1000, second], burst: 0, delay: 0 },
  { key: 'a', rate: [1, minute], burst: 0, delay: 0 },
];

// A status that upstream configures (501) is the business of whoever writes the response; here it is a refusal like 503.
// biome-ignore format: aligned rows
const traces: readonly Trace[] = [
  {
    name: '2 r/s, burst 1, nodelay: the third of three at once is rejected, and rejects are not counted',
    zones: [twoASecond],
    rows: [
      //  at    keys  status  delay
      [    0, client,   200,     0 ],
      [    0, client,   200,     0 ],
      [    0, client,   503,     0 ],
      [    0, client,   503,     0 ],
      [    0, client,   503,     0 ],
      [    0, client,   503,     0 ],
      [ 1100, client,   200,     0 ],
    ],
  },
  {
    name: '2 r/s, burst 1, nodelay: half a second is enough',
    zones: [twoASecond],
    rows: [
      [    0, client,   200,     0 ],
      [    0, client,   200,     0 ],
      [  499, client,   503,     0 ],
      [  500, client,   200,     0 ],
    ],
  },
  {
    name: '1000 r/s, burst 1: the excess does not become negative',
    zones: [{ key: 'client', rate: [1000, second], burst: 1, delay: 0 }],
    rows: [
      [    0, client,   200,     0 ],
      [  100, client,   200,     0 ],
    ],
  },
  {
    name: 'two zones: the fast one passes',
    zones: fastAndSlow,
    rows: [
      [    0, { b: '1' }, 200,   0 ],
      [  100, { b: '1' }, 200,   0 ],
    ],
  },
  {
    name: 'two zones: the slow one rejects',
    zones: fastAndSlow,
    rows: [
      [    0, { a: '1' }, 200,   0 ],
      [  100, { a: '1' }, 503,   0 ],
    ],
  },
  {
    name: 'two zones on one request: the slow one decides',
    zones: fastAndSlow,
    rows: [
      [    0, { a: '2', b: '2' }, 200, 0 ],
      [  100, { a: '2', b: '2' }, 503, 0 ],
    ],
  },
  {
    name: 'two zones: a request without either key is not limited',
    zones: fastAndSlow,
    rows: [
      [    0, {},       200,     0 ],
      [    0, {},       200,     0 ],
    ],
  },
  {
    name: 'two zones, nodelay: the slow one rejects',
    zones: fastAndSlow.map((zone) => ({ ...zone, delay: 'none' as const })),
    rows: [
      [    0, { a: '3' }, 200,   0 ],
      [  100, { a: '3' }, 503,   0 ],
    ],
  },
  {
    name: '30 r/m, delay=1, burst=2: the second goes at once, the third is delayed, the fourth rejected',
    zones: [{ key: 'client', rate: [30, minute], burst: 2, delay: 1 }],
    rows: [
      [    0, client,   200,     0 ],
      [    0, client,   200,     0 ],
      [    0, client,   200,  2000 ],
      [  200, client,   503,     0 ],
    ],
  },
];

describe.each(traces.map((trace) => [trace.name, trace] as const))('%s', (_, { zones, rows }) => {
  test.each([0, 1_700_000_000_000])('starting at %d', (startMs) => {
    const clock = new TestClock(startMs);
    const limits = rulesOf(zones, clock);
    const answers = rows.map(([atMs, keys]) => {
      clock.set(startMs + atMs);
      const result = limits.check(keys);
      return [atMs, keys, result.allowed ? 200 : 503, delayOf(result)];
    });
    expect(answers).toEqual(rows);
  });
});

test('of two zones that both delay, the longer delay wins, and a rejection by one charges neither', () => {
  const clock = new TestClock(0);
  const limits = rulesOf(
    [
      { key: 'a', rate: [1, second], burst: 5, delay: 0 },
      { key: 'b', rate: [2, second], burst: 1, delay: 0 },
    ],
    clock,
  );
  const both = { a: '1', b: '1' };
  expect(delayOf(limits.check(both))).toBe(0);
  expect(delayOf(limits.check(both))).toBe(1000);
  expect(limits.check(both).allowed).toBe(false);
  expect(delayOf(limits.check({ a: '1' }))).toBe(2000);
});

test('a dry run reports what it would have done and lets everything pass', () => {
  const clock = new TestClock(0);
  const store = memoryStore({ clock });
  // One zone, used in several places with a burst of their own.
  const zone = {
    name: 'zone',
    key: 'client',
    policy: ({ burst }: Readonly<Record<string, unknown>>) =>
      policyOf({ rate: [1, minute], burst: Number(burst), delay: 0 }),
  };
  const dryRun = rules([{ ...zone, shadow: true }], { store });
  const inForce = rules([zone], { store });

  function statusOf(result: RulesResult): string {
    const [decision] = result.decisions;
    const status = !decision?.allowed ? 'REJECTED' : decision.delayMs > 0 ? 'DELAYED' : 'PASSED';
    return `${result.allowed ? 200 : 503} ${status}${decision?.shadow ? ' DRY RUN' : ''}`;
  }

  expect(statusOf(dryRun.check({ ...client, burst: 2 }))).toBe('200 PASSED DRY RUN');
  expect(statusOf(dryRun.check({ ...client, burst: 2 }))).toBe('200 DELAYED DRY RUN');
  expect(statusOf(dryRun.check({ ...client, burst: 0 }))).toBe('200 REJECTED DRY RUN');
  expect(statusOf(inForce.check({ ...client, burst: 0 }))).toBe('503 REJECTED');
});

/** The excess in thousandths of a request, as nginx keeps it: the first request of a key has none. */
function nginx({ rate: [requests, per], burst, delay }: Omit<Zone, 'key'>) {
  const thousandthsPerSecond = Math.trunc((requests * 1000 * 1000) / per);
  let excess: number | undefined;
  let lastMs = 0;
  return (nowMs: number): [status: number, delayMs: number] => {
    const drained = Math.trunc((thousandthsPerSecond * Math.abs(nowMs - lastMs)) / 1000);
    const next = excess === undefined ? 0 : Math.max(0, excess - drained + 1000);
    if (next > burst * 1000) return [503, 0];
    excess = next;
    lastMs = nowMs;
    const undelayed = delay === 'none' ? Number.POSITIVE_INFINITY : delay === 'all' ? 0 : delay * 1000;
    return [200, next > undelayed ? Math.trunc(((next - undelayed) * 1000) / thousandthsPerSecond) : 0];
  };
}

// Arrivals lie on a grid on which nginx's own divisions leave nothing over.
// biome-ignore format: aligned rows
test.each<[requests: number, per: number, burst: number, delay: Delay, gridMs: number]>([
  //   rate        burst  delay   grid
  [    1, second,     0,  'all',   1 ],
  [    2, second,     5,  'all',   1 ],
  [   10, second,    20,  'none',  1 ],
  [   10, second,    12,      8,   1 ],
  [  100, second,     3,      1,   1 ],
  [ 1000, second,    50,  'all',   1 ],
  [    3, minute,     2,  'all',  20 ],
  [   30, minute,     4,      2,   2 ],
  [  300, minute,     7,  'none',  1 ],
])('admits and delays what nginx does: %d per %d ms, burst %d, delay %s', (requests, per, burst, delay, gridMs) => {
  const zone = { rate: [requests, per] as const, burst, delay };
  const model = nginx(zone);
  const subject = limiter(policyOf(zone), { clock: new TestClock(0) });
  const random = seededRandom(requests + burst);
  const intervalMs = per / requests;
  const counts = { 200: 0, 503: 0 };
  let atMs = 0;
  for (let i = 0; i < 4000; i += 1) {
    // Bursts of up to twice the rate with pauses that let it drain.
    atMs += gridMs * Math.round((random() ** 2 * 2.2 * intervalMs + (random() < 0.02 ? burst * intervalMs : 0)) / gridMs);
    const [status, delayMs] = model(atMs);
    const { allowed, delayMs: held } = subject.check('key', { atMs });
    expect([i, atMs, allowed ? 200 : 503, Math.trunc(held)]).toEqual([i, atMs, status, delayMs]);
    counts[allowed ? 200 : 503] += 1;
  }
  expect(Math.min(counts[200], counts[503])).toBeGreaterThan(50);
});
