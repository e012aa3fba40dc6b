/**
 * What the caller of a request holds to pause and to abort it. It has it from the start, also while the request waits for its turn or
 * for the next attempt; from the answer on it is that attempt's.
 */
import type { DispatchController } from './dispatch.ts';

/** The attempt whose answer is the caller's. */
export type Followed = Pick<DispatchController, 'rawHeaders' | 'rawTrailers' | 'abort' | 'pause' | 'resume'>;

export class CallerController implements DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  private readonly giveUp = new AbortController();
  private attempt: Followed | undefined;

  /** Aborted when the caller gives up. */
  get signal(): AbortSignal {
    return this.giveUp.signal;
  }

  get rawHeaders(): unknown {
    return this.attempt?.rawHeaders ?? null;
  }

  get rawTrailers(): unknown {
    return this.attempt?.rawTrailers ?? null;
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.giveUp.abort(reason);
    this.attempt?.abort(reason);
  }

  pause(): void {
    this.paused = true;
    this.attempt?.pause();
  }

  resume(): void {
    this.paused = false;
    this.attempt?.resume();
  }

  /** This attempt's answer is the caller's. */
  follow(attempt: Followed): void {
    this.attempt = attempt;
    if (this.paused) attempt.pause();
  }

  /** Tells of an informational answer, after which there is nothing to pause. */
  inform(tell: () => void): void {
    const { paused } = this;
    tell();
    this.paused = paused;
  }
}
