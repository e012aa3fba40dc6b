/**
 * What one variant does to each call, stage by stage; stages that are absent are passed at once.
 *
 *      arrive ──► limit ──► schedule ──► protect ──► balance ──► servers ──► end
 *                   │           │           │           │           │
 *                   └───────────┴── refused, shed, too late, not made, failed: also an end
 */
import type { AnswerBook } from './answer-book.ts';
import type { Call } from './calls.ts';
import type { Stages } from './scenario.ts';
import type { Slices } from './slices.ts';
import { Ends } from './stages/ends.ts';
import { LimitStage, type Pass } from './stages/limit-stage.ts';
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
}

const freePass: Pass = { delayMs: 0, release: undefined };

export class Pipeline {
  private readonly world: World;
  private readonly limit: LimitStage | undefined;
  private readonly schedule: ScheduleStage | undefined;
  private readonly protect: ProtectStage | undefined;
  private readonly servers: ServersStage | undefined;
  /** Where limits are all there is, what they let through is not followed any further. */
  private readonly ends: Ends | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(stages: Stages, context: PipelineContext) {
    const { world, slices, groups, durationMs } = context;
    const { limit, schedule, servers, balance, protect } = stages;
    this.world = world;
    this.limit = limit && new LimitStage({ ...context, limits: limit, isLast: !schedule && !servers });
    if (schedule || servers) this.ends = new Ends(slices, groups, durationMs, !limit);
    this.schedule = schedule && new ScheduleStage({ ...context, schedule });
    this.protect = protect && new ProtectStage({ ...context, protect });
    this.servers = servers && balance && new ServersStage({ ...context, servers, balance });
  }

  arrive(call: Call): void {
    if (this.failure) throw this.failure.error;
    const pass = this.limit ? this.limit.enter(call) : freePass;
    if (!pass) return;
    const { delayMs, release } = pass;
    if (delayMs > 0) this.world.at(call.atMs + delayMs, () => this.enter(call, release));
    else this.enter(call, release);
  }

  private enter(call: Call, release: Pass['release']): void {
    const { ends, world } = this;
    if (!ends) {
      if (release && call.serviceMs !== undefined) world.at(world.nowMs + call.serviceMs, () => release(world.nowMs));
      return;
    }
    ends.begin(call);
    const end = (how: 'ok' | 'failed' | 'given-up'): void => {
      release?.(world.nowMs);
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
    for (const stage of [this.limit, this.ends, this.schedule, this.protect, this.servers]) stage?.report(findings);
  }
}
