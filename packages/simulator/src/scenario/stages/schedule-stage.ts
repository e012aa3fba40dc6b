/** The stage in which calls wait for their turn. The schedulers are the library's; what they do to whom is counted here. */
import type { SluiceError } from 'sluice';
import { fairScheduler, leakyQueue, priorityScheduler, type Scheduler } from 'sluice/schedule';
import type { Call } from '../calls.ts';
import { Samples } from '../samples.ts';
import type { Schedule } from '../scenario.ts';
import type { Counter, Slices } from '../slices.ts';
import type { Findings, Measures } from '../vocabulary.ts';
import type { World } from '../world.ts';

/** Ends when the call has: whoever runs it holds its place for so long. */
export type Work = () => Promise<void>;

type Run = (call: Call, work: Work) => Promise<void>;

export interface ScheduleStageOptions {
  readonly schedule: Schedule;
  readonly world: World;
  readonly slices: Slices;
  readonly groups: readonly string[];
}

const mostStartsInWords = 40;

/** What the library says of tasks that it does not run. */
const givenUp: Readonly<Record<string, 'shed' | 'expired'>> = { 'queue-full': 'shed', 'task-expired': 'expired' };

/** Of a group, or of all. */
class Waits {
  readonly waitMs = new Samples();
  asked = 0;
  shed = 0;
  expired = 0;
  servedMs = 0;

  put(measures: Measures, of?: string): void {
    const { waitMs, asked, shed, expired } = this;
    measures.put('started', waitMs.count, of);
    measures.put('shed', shed, of);
    measures.put('expired', expired, of);
    measures.put('starved', asked - waitMs.count - shed - expired, of);
    measures.put('waitMsMean', waitMs.mean, of);
    measures.put('waitMsP99', waitMs.p99, of);
    measures.put('waitMsMax', waitMs.max, of);
  }
}

export class ScheduleStage {
  private readonly world: World;
  private readonly scheduler: Scheduler;
  private readonly start: Run;
  private readonly groups: readonly string[];
  private readonly all = new Waits();
  private readonly byGroup: readonly Waits[];
  private readonly series: Record<'waiting' | 'shed', Counter>;
  private readonly shares: readonly Counter[];
  private servedBefore: number[];
  private readonly words: string[] = [];
  private latestStartMs: number | undefined;
  private gapMsMin = Number.POSITIVE_INFINITY;
  private gapMsMax = Number.NEGATIVE_INFINITY;

  constructor({ schedule, world, slices, groups }: ScheduleStageOptions) {
    this.world = world;
    const { scheduler, run } = schedulerOf(schedule, world);
    this.scheduler = scheduler;
    this.start = run;
    this.groups = groups;
    this.byGroup = groups.map(() => new Waits());
    this.series = {
      waiting: slices.counter('waiting', 'queue'),
      shed: slices.counter('shed', 'refused'),
    };
    this.shares = groups.map((name) => slices.counter(`servedShare.${name}`, 'share'));
    this.servedBefore = groups.map(() => 0);
  }

  /** Runs the work when its turn comes. Rejects as the work does; a call that is given up resolves `false`. */
  async run(call: Call, work: Work): Promise<boolean> {
    const { world } = this;
    const enteredMs = world.nowMs;
    const mine = call.group < 0 ? [this.all] : [this.all, this.byGroup[call.group]!];
    for (const each of mine) each.asked += 1;
    let hasStarted = false;
    try {
      await this.start(call, async () => {
        hasStarted = true;
        const startedMs = world.nowMs;
        this.noteStart(call, startedMs);
        for (const each of mine) each.waitMs.add(startedMs - enteredMs);
        try {
          await work();
        } finally {
          for (const each of mine) each.servedMs += world.nowMs - startedMs;
        }
      });
      return true;
    } catch (error) {
      if (hasStarted) throw error;
      const end = givenUp[String((error as SluiceError).code)];
      if (!end) throw error;
      this.series.shed.add(world.nowMs);
      for (const each of mine) each[end] += 1;
      return false;
    }
  }

  private noteStart({ group, key }: Call, atMs: number): void {
    if (this.words.length < mostStartsInWords) this.words.push(this.groups[group] ?? key);
    if (this.latestStartMs !== undefined) {
      this.gapMsMin = Math.min(this.gapMsMin, atMs - this.latestStartMs);
      this.gapMsMax = Math.max(this.gapMsMax, atMs - this.latestStartMs);
    }
    this.latestStartMs = atMs;
  }

  endOfSlice(slice: number): void {
    this.series.waiting.set(slice, this.scheduler.stats().waiting);
    const served = this.byGroup.map(({ servedMs }) => servedMs);
    const inSlice = served.map((ms, i) => ms - this.servedBefore[i]!);
    const all = inSlice.reduce((sum, each) => sum + each, 0);
    for (const [i, series] of this.shares.entries()) series.set(slice, all === 0 ? 0 : inSlice[i]! / all);
    this.servedBefore = served;
  }

  report({ measures, texts, notes }: Findings): void {
    this.all.put(measures);
    measures.put('startGapMsMin', this.gapMsMin);
    measures.put('startGapMsMax', this.gapMsMax);
    for (const [i, group] of this.groups.entries()) {
      const waits = this.byGroup[i]!;
      waits.put(measures, group);
      if (this.all.servedMs > 0) measures.put('servedShare', waits.servedMs / this.all.servedMs, group);
    }
    texts.set('starts', this.words.join(' '));
    if (this.groups.length > 0) notes.push(`first to start: ${this.words.join(' ')}`);
  }
}

function schedulerOf(schedule: Schedule, { clock }: World): { readonly scheduler: Scheduler; readonly run: Run } {
  const deadlineOf = ({ source }: Call): number | undefined => {
    const withinMs = source.deadlineMs ?? schedule.deadlineMs;
    return withinMs === undefined ? undefined : clock.now() + withinMs;
  };
  if (schedule.kind === 'priority') {
    const scheduler = priorityScheduler({ ...schedule.options, clock });
    const run: Run = (call, work) =>
      scheduler.run(work, { priority: call.source.priority, deadlineMs: deadlineOf(call) });
    return { scheduler, run };
  }
  if (schedule.kind === 'fair') {
    const scheduler = fairScheduler({ ...schedule.options, clock });
    for (const [tenant, share] of Object.entries(schedule.tenants)) scheduler.add(tenant, share);
    return { scheduler, run: (call, work) => scheduler.run(work, { tenant: call.key, deadlineMs: deadlineOf(call) }) };
  }
  const scheduler = leakyQueue({ ...schedule.options, clock });
  return { scheduler, run: (call, work) => scheduler.run(work, { deadlineMs: deadlineOf(call) }) };
}
