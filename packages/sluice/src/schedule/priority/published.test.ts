// What p-queue and bottleneck do, from their own tests: who starts when, of jobs that all come at 0. In p-queue a higher number goes
// first: here its priorities have the other sign. A job whose priority p-queue changes goes behind those who have it already, ours keeps
// the place it came with; none of these rows can tell. bottleneck's OVERFLOW is `newest`, its OVERFLOW_PRIORITY is `lowest-priority`.
// There the oldest of the lowest is dropped, here the newest, who would have gone last; who is dropped in the end is the same. Its
// LEAK, which always lets the newcomer in, has no row and no twin: `oldest` is nearest.
//
// A scheduler here has no rate of its own: who may start when is a limiter's business, or a leaky queue's. So of p-queue's
// `interval` only the order is taken over, and `strict` and bottleneck's reservoir have nothing to be compared with. bottleneck's
// `minTime` of 100 ms is there in that no job takes less; its own millisecond or two until a job starts are not.
import { describe, expect, it } from 'vitest';
import { PassingClock } from '../../protect/passing-clock.test-support.ts';
import type { ShedPolicy } from '../settings.ts';
import { priorityScheduler } from './priority-scheduler.ts';

interface Row {
  readonly name: string;
  readonly concurrency: number;
  /** Name, `@`, priority as published. */
  readonly jobs: string;
  readonly tookMs: number;
  readonly changes?: string;
  /** Name, `@`, when. */
  readonly starts: string;
}

const pQueue: readonly Row[] = [
  {
    name: 'the first starts at once, the others by priority',
    concurrency: 1,
    jobs: 'a@1 b@0 c@1 d@1 e@2 f@-1',
    tookMs: 10,
    starts: 'a@0 e@10 c@20 d@30 b@40 f@50',
  },
  {
    name: 'no priority is 0',
    concurrency: 1,
    jobs: 'first second urgent@1 third',
    tookMs: 10,
    starts: 'first@0 urgent@10 second@20 third@30',
  },
  {
    name: 'a boost moves a job forward',
    concurrency: 1,
    jobs: 'snail@0 duck@0 turtle@0',
    tookMs: 400,
    changes: 'turtle@1',
    starts: 'snail@0 turtle@400 duck@800',
  },
  {
    name: 'a demotion moves it to the end',
    concurrency: 1,
    jobs: 'snail@0 d1@0 d2@0 turtle@0 d3@0 d4@0',
    tookMs: 400,
    changes: 'turtle@-1',
    starts: 'snail@0 d1@400 d2@800 d3@1200 d4@1600 turtle@2000',
  },
  {
    name: 'a boost with two at once',
    concurrency: 2,
    jobs: 'snail@0 duck@0 turtle@0 bolt@0',
    tookMs: 400,
    changes: 'bolt@1',
    starts: 'snail@0 duck@0 bolt@400 turtle@400',
  },
  {
    name: 'a boost with three at once',
    concurrency: 3,
    jobs: 'snail@0 duck@0 turtle@0 bolt@0 crab@0',
    tookMs: 400,
    changes: 'crab@1',
    starts: 'snail@0 duck@0 turtle@0 crab@400 bolt@400',
  },
  {
    name: 'several boosts',
    concurrency: 2,
    jobs: 'snail@0 duck@0 turtle@0 bolt@0 crab@0',
    tookMs: 400,
    changes: 'bolt@1 crab@2',
    starts: 'snail@0 duck@0 crab@400 bolt@400 turtle@800',
  },
  {
    name: 'the order of a queue with one per 500 ms',
    concurrency: 1,
    jobs: 'first@0 low@0 high@1 medium@0.5',
    tookMs: 500,
    changes: 'low@2',
    starts: 'first@0 low@500 high@1000 medium@1500',
  },
];

const bottleneck: readonly (Row & { shed?: ShedPolicy; capacity?: number; dropped?: string })[] = [
  {
    name: 'what is more important overtakes',
    concurrency: 1,
    jobs: '1@5 2@5 5@1 3@5 4@5',
    tookMs: 100,
    starts: '1@0 5@100 2@200 3@300 4@400',
  },
  {
    name: 'each before the one that came before it',
    concurrency: 1,
    jobs: '1@6 2@5 3@4 4@3',
    tookMs: 100,
    starts: '1@0 4@100 3@200 2@300',
  },
  {
    name: 'OVERFLOW, highWater 2',
    concurrency: 1,
    jobs: '1@5 2@5 3@5 4@5 5@2 6@1 7@9',
    tookMs: 100,
    shed: 'newest',
    capacity: 2,
    starts: '1@0 2@100 3@200',
    dropped: '4 5 6 7',
  },
  {
    name: 'OVERFLOW_PRIORITY, highWater 2',
    concurrency: 1,
    jobs: '1@5 2@5 3@5 4@5 5@2 6@2 7@2',
    tookMs: 100,
    shed: 'lowest-priority',
    capacity: 2,
    starts: '1@0 5@100 6@200',
    dropped: '2 3 4 7',
  },
];

const pairs = (text: string) =>
  text.split(' ').map((pair) => [pair.split('@')[0]!, Number(pair.split('@')[1] ?? 0)] as const);

async function play(row: (typeof bottleneck)[number], sign: 1 | -1) {
  const clock = new PassingClock();
  const { concurrency, shed = 'newest', capacity = 100 } = row;
  const scheduler = priorityScheduler({ clock, concurrency, shed, capacity });
  const starts: string[] = [];
  const dropped: string[] = [];
  for (const [id, priority] of pairs(row.jobs)) {
    const job = async () => {
      starts.push(`${id}@${clock.now()}`);
      await clock.sleep(row.tookMs);
    };
    scheduler.run(job, { id, priority: sign * priority }).catch((error) => dropped.push(`${id}:${error.code}`));
  }
  for (const [id, priority] of row.changes ? pairs(row.changes) : [])
    expect(scheduler.update(id, { priority: sign * priority })).toBe(true);
  await clock.pass(10_000);
  expect(scheduler.stats()).toMatchObject({ waiting: 0, running: 0 });
  return { starts: starts.join(' '), dropped: dropped.sort().join(' ') };
}

describe('p-queue', () => {
  it.each(pQueue)('$name', async (row) => {
    expect(await play(row, -1)).toEqual({ starts: row.starts, dropped: '' });
  });

  it.each([
    ['first@0 second@0 third@-1', 'first', 'urgent@1', 'urgent second third'],
    ['first@0 second@0', 'first', 'same@0 lower@-1', 'second same lower'],
  ])('its queue: %s, then %s goes, then %s', (before, head, after, rest) => {
    const scheduler = priorityScheduler<string>({ clock: new PassingClock() });
    for (const [task, priority] of pairs(before)) scheduler.submit(task, { priority: -priority });
    expect(scheduler.next()).toBe(head);
    for (const [task, priority] of pairs(after)) scheduler.submit(task, { priority: -priority });
    expect(rest.split(' ').map(() => scheduler.next())).toEqual(rest.split(' '));
    expect(scheduler.next()).toBeUndefined();
  });
});

describe('bottleneck', () => {
  it.each(bottleneck)('$name', async (row) => {
    const dropped = row.dropped?.split(' ').map((id) => `${id}:queue-full`) ?? [];
    expect(await play(row, 1)).toEqual({ starts: row.starts, dropped: dropped.join(' ') });
  });
});
