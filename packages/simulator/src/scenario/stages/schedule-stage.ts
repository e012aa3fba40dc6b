/** The stage in which calls wait for their turn. The schedulers are the library's; what they do to whom is counted here. */
import type { SluiceError } from 'sluice';
import type { Scheduler, SchedulerEvents } from 'sluice/schedule';
import type { Call } from '../calls.ts';
import { Samples } from '../samples.ts';
import type { Operation, Schedule, ScheduleOperation } from '../scenario.ts';
import type { Counter, Slices } from '../slices.ts';
import { type Findings, type Measures, mostInWords } from '../vocabulary.ts';
import type { World } from '../world.ts';
import type { OperationLog } from './operation-log.ts';
import { type Scheduling, schedulingOf, type Work } from './scheduling.ts';
import { StallingClock } from './stalling-clock.ts';
import { taskOperations } from './task-operations.ts';
import { WaitingTasks } from './waiting-tasks.ts';

export interface ScheduleStageOptions {
  readonly schedule: Schedule;
  readonly world: World;
  readonly slices: Slices;
  readonly groups: readonly string[];
  readonly operations: readonly Operation[];
  readonly log: OperationLog;
}

const ways = ['shed', 'expired', 'removed', 'aborted', 'closed'] as const;
type Way = (typeof ways)[number];

/** What the library says of tasks that it does not run. */
const givenUp: Readonly<Record<string, Way>> = {
  'queue-full': 'shed',
  'task-expired': 'expired',
  'task-removed': 'removed',
  'scheduler-closed': 'closed',
};

const eventNames: readonly (keyof SchedulerEvents)[] = ['queued', 'started', 'ended', 'shed', 'expired', 'removed'];

/** Of a group, or of all. */
class Waits {
  readonly waitMs = new Samples();
  readonly gone: Record<Way, number> = { shed: 0, expired: 0, removed: 0, aborted: 0, closed: 0 };
  asked = 0;
  servedMs = 0;

  put(measures: Measures, of?: string): void {
    const { waitMs, asked, gone } = this;
    measures.put('started', waitMs.count, of);
    // Nobody is taken out but by operations: where there are none, there is nothing to say of it.
    for (const way of ways) if (way === 'shed' || way === 'expired' || gone[way] > 0) measures.put(way, gone[way], of);
    measures.put('starved', asked - waitMs.count - ways.reduce((sum, way) => sum + gone[way], 0), of);
    measures.put('waitMsMean', waitMs.mean, of);
    measures.put('waitMsP99', waitMs.p99, of);
    measures.put('waitMsMax', waitMs.max, of);
  }
}

export class ScheduleStage {
  private readonly world: World;
  private readonly scheduling: Scheduling;
  private readonly scheduler: Scheduler;
  readonly operate: (operation: ScheduleOperation) => void;
  /** Kept where operations ask for them. */
  private readonly waitingTasks: WaitingTasks | undefined;
  private readonly heard = new Map(eventNames.map((name) => [name, 0]));
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

  constructor({ schedule, world, slices, groups, operations, log }: ScheduleStageOptions) {
    this.world = world;
    const stalls = operations.flatMap((operation) =>
      operation.do === 'stall' ? [{ fromMs: operation.atMs, untilMs: operation.atMs + operation.forMs }] : [],
    );
    const clock = stalls.length === 0 ? world.clock : new StallingClock(world.clock, stalls);
    this.scheduling = schedulingOf(schedule, clock);
    this.scheduler = this.scheduling.scheduler;
    if (operations.some((operation) => 'of' in operation)) this.waitingTasks = new WaitingTasks(groups);
    this.operate = taskOperations({ scheduling: this.scheduling, waitingTasks: this.waitingTasks, log, world });
    for (const name of eventNames) this.scheduler.on(name, () => this.heard.set(name, this.heard.get(name)! + 1));
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
    const task = this.waitingTasks?.add(call);
    let hasStarted = false;
    try {
      await this.scheduling.run(call, task, async () => {
        hasStarted = true;
        if (task) this.waitingTasks?.delete(task);
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
      if (task) this.waitingTasks?.delete(task);
      const way = task?.abort.signal.aborted ? 'aborted' : givenUp[String((error as SluiceError).code)];
      if (!way) throw error;
      this.series.shed.add(world.nowMs);
      for (const each of mine) each.gone[way] += 1;
      return false;
    }
  }

  private noteStart({ group, key }: Call, atMs: number): void {
    if (this.words.length < mostInWords) this.words.push(this.groups[group] ?? key);
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
    texts.set('events', [...this.heard].map(([name, count]) => `${name} ${count}`).join(', '));
    if (this.groups.length > 0) notes.push(`first to start: ${this.words.join(' ')}`);
  }
}
