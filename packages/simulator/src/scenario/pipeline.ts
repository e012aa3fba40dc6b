/**
 * What one variant does to each call, stage by stage; stages that are absent are passed at once.
 *
 *      arrive ──► limit ──► schedule ──► protect ──► balance ──► servers ──► end
 *                   │           │           │           │           │
 *                   └───────────┴── refused, shed, too late, not made, failed: also an end
 */
import { isConcurrency } from '../policy-kinds.ts';
import type { AnswerBook } from './answer-book.ts';
import type { Call } from './calls.ts';
import { andThen, type Eventual } from './eventual.ts';
import { isScheduleOperation } from './operation-targets.ts';
import type { Operation, Stages } from './scenario.ts';
import type { Slices } from './slices.ts';
import { Ends } from './stages/ends.ts';
import { LimitStage, type LimitStageOptions, type Pass } from './stages/limit-stage.ts';
import { OperationLog } from './stages/operation-log.ts';
import { ProtectStage } from './stages/protect-stage.ts';
import { ScheduleStage } from './stages/schedule-stage.ts';
import { ServersStage } from './stages/servers-stage.ts';
import type { Findings } from './vocabulary.ts';
import type { World } from './world.ts';

export interface PipelineContext {
  readonly world: World;
  readonly slices: Slices;
  readonly seed: number;
  readonly durationMs: number;
  readonly book: AnswerBook;
  readonly groups: readonly string[];
  /** Where the numbers of the limits live. Default: memory of its own. */
  readonly place: LimitStageOptions['place'];
}

/** So many calls may be under way to a store at once: enough to keep it busy, and few enough to end a run quickly. */
const mostUnanswered = 1024;

const freePass: Pass = { delayMs: 0, release: undefined };

export class Pipeline {
  private readonly world: World;
  private readonly limit: LimitStage | undefined;
  private readonly schedule: ScheduleStage | undefined;
  private readonly protect: ProtectStage | undefined;
  private readonly servers: ServersStage | undefined;
  /** Where limits are all there is, what they let through is not followed any further. */
  private readonly ends: Ends | undefined;
  private readonly log: OperationLog | undefined;
  private failure: { readonly error: unknown } | undefined;
  /**
   * Nothing comes of an answer but numbers: calls need not wait for those before them. A store takes what is asked of one key in the order it
   * was asked in; the first answer is waited for, because a store may have to make itself ready (Redis does not know the script yet).
   */
  private mayRunAhead = false;
  private readonly isOnlyCounted: boolean;
  /** What a store other than memory has not answered yet. */
  private readonly unanswered = new Set<Promise<void>>();

  constructor(stages: Stages, context: PipelineContext) {
    const { world, slices, groups, durationMs } = context;
    const { limit, schedule, servers, balance, protect, operations = [] } = stages;
    this.world = world;
    const log = new OperationLog();
    if (operations.length > 0) this.log = log;
    const follow = (work: Eventual<void>): void => this.waitFor(work);
    const isLast = !schedule && !servers;
    this.limit = limit && new LimitStage({ ...context, limits: limit, isLast, operations, log, follow });
    this.isOnlyCounted = isLast && operations.length === 0 && limit?.length === 1 && !isConcurrency(limit[0]!.policy);
    if (schedule || servers) this.ends = new Ends(slices, groups, durationMs, !limit);
    this.schedule = schedule && new ScheduleStage({ ...context, schedule, operations, log });
    this.protect = protect && new ProtectStage({ ...context, protect });
    this.servers = servers && balance && new ServersStage({ ...context, servers, balance });
    for (const operation of operations) world.at(operation.atMs, () => this.operate(operation));
  }

  /** A promise where the limits' store answers later, and the next call has to wait for that. */
  arrive(call: Call): Promise<unknown> | undefined {
    if (this.failure) throw this.failure.error;
    const answering = this.mayRunAhead ? undefined : this.answered();
    if (answering) return answering.then(() => this.ask(call));
    const asked = this.ask(call);
    if (!(asked instanceof Promise)) return undefined;
    if (!this.mayRunAhead) {
      this.mayRunAhead = this.isOnlyCounted;
      return asked;
    }
    this.waitFor(asked);
    return this.unanswered.size < mostUnanswered ? undefined : this.answered();
  }

  private ask(call: Call): Eventual<void> {
    const pass = this.limit ? this.limit.enter(call) : freePass;
    return andThen(pass, (given) => given && this.go(call, given));
  }

  private go(call: Call, { delayMs, release }: Pass): void {
    // Where limits are all there is, only what gives something back later is followed.
    if (!this.ends && !release) return;
    if (delayMs > 0) this.world.at(call.atMs + delayMs, () => this.enter(call, release));
    else this.enter(call, release);
  }

  private operate(operation: Operation): void {
    if (isScheduleOperation(operation)) this.schedule!.operate(operation);
    else this.limit!.operate(operation);
  }

  /** Until a store other than memory has answered everything; `undefined` where it has. */
  answered(): Promise<unknown> | undefined {
    return this.unanswered.size === 0 ? undefined : Promise.all(this.unanswered);
  }

  private enter(call: Call, release: Pass['release']): void {
    const { ends, world } = this;
    if (!ends) {
      if (release && call.serviceMs !== undefined)
        world.at(world.nowMs + call.serviceMs, () => this.waitFor(release(world.nowMs)));
      return;
    }
    ends.begin(call);
    const end = (how: 'ok' | 'failed' | 'given-up'): void => {
      if (release) this.waitFor(release(world.nowMs));
      ends.end(call, how, world.nowMs);
    };
    if (this.schedule) this.follow(this.scheduled(this.schedule, call, end));
    else if (this.protect) this.follow(this.worked(call).then((isOk) => end(isOk ? 'ok' : 'failed')));
    else this.servers!.attempt(call, (isOk) => end(isOk ? 'ok' : 'failed'));
  }

  private async scheduled(
    schedule: ScheduleStage,
    call: Call,
    end: (how: 'ok' | 'failed' | 'given-up') => void,
  ): Promise<void> {
    let isOk = false;
    const hasRun = await schedule.run(call, async () => {
      isOk = await this.worked(call);
    });
    if (!hasRun) end('given-up');
    else end(isOk ? 'ok' : 'failed');
  }

  /** The work of a call, whatever is there to do it; whether it went well. */
  private worked(call: Call): Promise<boolean> {
    const { servers, world } = this;
    if (!servers) return new Promise((resolve) => world.at(world.nowMs + (call.serviceMs ?? 0), () => resolve(true)));
    const attempt = (end: (isOk: boolean) => void) => servers.attempt(call, end);
    return this.protect ? this.protect.run(attempt) : new Promise(attempt);
  }

  private waitFor(work: Eventual<void>): void {
    if (!(work instanceof Promise)) return;
    const answered = work.finally(() => this.unanswered.delete(answered));
    this.unanswered.add(answered);
    this.follow(answered);
  }

  /** Nobody else holds the promise: its error ends the run. */
  private follow(promise: Promise<void>): void {
    promise.catch((error: unknown) => {
      this.failure ??= { error };
    });
  }

  endOfSlice(slice: number): void {
    for (const stage of [this.limit, this.schedule, this.protect, this.servers]) stage?.endOfSlice(slice);
  }

  report(findings: Findings): void {
    if (this.failure) throw this.failure.error;
    for (const stage of [this.limit, this.ends, this.schedule, this.protect, this.servers, this.log])
      stage?.report(findings);
  }
}
