/**
 * A server as a model: a line, and workers that take from it. This, with time, is what is not real here.
 *
 *      call ──► │ · · · │ ──► worker ──► done, after the call's service time / speed * slowness
 *                                  └──► failed at once, while it fails
 */
import type { Call } from '../calls.ts';
import { Line } from '../line.ts';
import type { ServerSpec } from '../scenario.ts';
import type { World } from '../world.ts';

export interface Job {
  readonly call: Call;
  /** Once; false says that it failed. */
  readonly end: (isOk: boolean) => void;
}

export class Server {
  readonly spec: ServerSpec;
  /** Calls that it has, those it works on among them. */
  load = 0;
  /** What befalls it at the moment. */
  fails = 0;
  slow = 1;
  private readonly line = new Line<Job>();
  private readonly world: World;
  private readonly random: () => number;
  private readonly most: number;
  private working = 0;

  constructor(spec: ServerSpec, queue: number, world: World, random: () => number) {
    this.spec = spec;
    this.world = world;
    this.random = random;
    this.most = queue + spec.workers;
  }

  /** Whether a check of its health would pass. */
  isWell(): boolean {
    return !this.isStruck();
  }

  serve(job: Job): void {
    if (this.load >= this.most) {
      job.end(false);
      return;
    }
    this.load += 1;
    this.line.add(job);
    this.goOn();
  }

  private goOn(): void {
    while (this.working < this.spec.workers) {
      const job = this.line.take();
      if (!job) return;
      if (this.isStruck()) this.finish(job, false);
      else this.work(job);
    }
  }

  private work(job: Job): void {
    this.working += 1;
    const takesMs = ((job.call.serviceMs ?? 0) * this.slow) / this.spec.speed;
    this.world.at(this.world.nowMs + takesMs, () => {
      this.working -= 1;
      this.finish(job, true);
      this.goOn();
    });
  }

  private finish(job: Job, isOk: boolean): void {
    this.load -= 1;
    job.end(isOk);
  }

  private isStruck(): boolean {
    return this.fails > 0 && (this.fails >= 1 || this.random() < this.fails);
  }
}
