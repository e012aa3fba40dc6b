/**
 * The two ways to ask, over whatever can be asked.
 *
 *      open      schedule ──► due? ──► room? ──► ask          latency counts from the schedule
 *      closed    answer ──► ask again                         latency counts from the asking
 *
 * An open loop that let slow answers hold the next requests back would measure a service only while it is well (coordinated
 * omission). Here a request that is due and finds no room waits with its clock running.
 */
import type { Asker, AskerEvents } from './asker.ts';
import type { LoadReport } from './load-order.ts';
import { OpenSchedule } from './open-schedule.ts';
import type { Pace } from './pace.ts';
import { Tally } from './tally.ts';

/** Opens what is asked, given whom it tells of answers. */
export type OpenAsker = (events: AskerEvents) => Promise<Asker>;

/** How long the last answers may take once nothing more is due. */
const lastAnswersMs = 20_000;

export interface OpenLoopOptions {
  readonly perSecond: number;
  readonly durationMs: number;
}

export async function openLoop(open: OpenAsker, pace: Pace, options: OpenLoopOptions): Promise<LoadReport> {
  const schedule = new OpenSchedule(options);
  const { count } = schedule;
  const tally = new Tally();
  let startMs = 0;
  const asker = await open({
    answered: (request, problem) => tally.answer(pace.nowMs() - startMs - schedule.atMs(request), problem),
  });
  startMs = pace.nowMs();
  let next = 0;
  for (;;) {
    const elapsedMs = pace.nowMs() - startMs;
    const due = schedule.dueAt(elapsedMs);
    while (next < due && asker.ask(next)) {
      tally.sent(elapsedMs - schedule.atMs(next));
      next += 1;
    }
    asker.flush();
    if (tally.answered === count || asker.failure() !== undefined) break;
    if (elapsedMs > options.durationMs + lastAnswersMs) break;
    await pace.rest(startMs + nextLookMs(next, due, schedule, elapsedMs));
  }
  asker.close();
  // The last answer may come before the last interval is over; the rate is that of the whole schedule.
  return tally.report(count, Math.max(options.durationMs, pace.nowMs() - startMs));
}

function nextLookMs(next: number, due: number, schedule: OpenSchedule, elapsedMs: number): number {
  // Some found no room, which may come at any moment.
  if (next < due) return elapsedMs;
  return next < schedule.count ? schedule.atMs(next) : elapsedMs + 1;
}

export interface ClosedLoopOptions {
  /** Under way at once, over all connections. */
  readonly inFlight: number;
  readonly durationMs: number;
  /** Default: as many as the time allows. */
  readonly requests?: number | undefined;
}

/** Between looks at whether all is over; answers ask by themselves. */
const lookEveryMs = 5;

export async function closedLoop(open: OpenAsker, pace: Pace, options: ClosedLoopOptions): Promise<LoadReport> {
  const { inFlight, durationMs, requests: most = Number.POSITIVE_INFINITY } = options;
  const tally = new Tally();
  // A place is one of those under way; the next request takes the place of one that was answered.
  const idlePlaces = Array.from({ length: inFlight }, (_, place) => place);
  const askedMs = new Float64Array(inFlight);
  let asked = 0;
  let endMs = 0;
  let lastAnswerMs = 0;

  const asker = await open({
    answered(place, problem) {
      lastAnswerMs = pace.nowMs();
      tally.answer(lastAnswerMs - askedMs[place]!, problem);
      idlePlaces.push(place);
      askMore(lastAnswerMs);
    },
  });

  function askMore(nowMs: number): void {
    while (idlePlaces.length > 0 && asked < most && nowMs < endMs) {
      const place = idlePlaces.at(-1)!;
      if (!asker.ask(place)) return;
      idlePlaces.pop();
      askedMs[place] = nowMs;
      asked += 1;
    }
  }

  const startMs = pace.nowMs();
  endMs = startMs + durationMs;
  for (;;) {
    const nowMs = pace.nowMs();
    askMore(nowMs);
    asker.flush();
    const isOver = nowMs >= endMs || asked >= most;
    if ((isOver && tally.answered === asked) || asker.failure() !== undefined) break;
    if (nowMs > endMs + lastAnswersMs) break;
    await pace.rest(nowMs + lookEveryMs);
  }
  asker.close();
  return tally.report(asked, Math.max(lastAnswerMs - startMs, Number.MIN_VALUE));
}
