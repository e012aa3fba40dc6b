/** What protections that hand out passes have in common: a pass ends once, and a call made with one says how. */
import { answerOf, type Ended, endOf, type Outcome, type Pass, type ProtectedCall } from './protection.ts';

/** Hears the first that is said of a call, and nothing after it. */
export class OncePass implements Pass {
  private end: ((outcome: Outcome) => void) | undefined;

  constructor(end: (outcome: Outcome) => void) {
    this.end = end;
  }

  ok(): void {
    this.say('ok');
  }

  failed(): void {
    this.say('failed');
  }

  ignored(): void {
    this.say('ignored');
  }

  private say(outcome: Outcome): void {
    const end = this.end;
    this.end = undefined;
    end?.(outcome);
  }
}

/** What the end of a call says about the service. */
export type Judge = (ended: Ended) => Outcome;

/** Makes the call, says on the pass how it ended, and answers as the call did. */
export async function runWithPass<T>(
  pass: Pass,
  call: ProtectedCall<T>,
  signal: AbortSignal | undefined,
  judge: Judge,
): Promise<T> {
  const ended = await endOf(call, signal);
  try {
    pass[gaveUp(ended, signal) ? 'ignored' : judge(ended)]();
  } finally {
    // Where the judge threw, the call has not ended yet, and the error is the caller's.
    pass.ignored();
  }
  return answerOf(ended);
}

/** It threw after its caller gave up, which says nothing about the service. That its time was up does: there was no answer in it. */
function gaveUp(ended: Ended, signal: AbortSignal | undefined): boolean {
  if (!('error' in ended) || !signal?.aborted) return false;
  const { reason } = signal;
  return reason?.name !== 'TimeoutError' && sluiceCodeOf(reason) !== 'timed-out';
}

/** The code of an error of Sluice; undefined for any other. By name and code, which survive duplicate copies of this package. */
export function sluiceCodeOf(error: unknown): unknown {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return name === 'SluiceError' ? code : undefined;
}

// A protection or a scheduler further in did not let the call through: the service never saw it.
const notMade: readonly unknown[] = [
  'circuit-open',
  'throttled',
  'bulkhead-full',
  'queue-full',
  'task-expired',
  'task-removed',
  'scheduler-closed',
];

/** Whether the call was refused on its way, so that its end says nothing about the service. */
export function wasNotMade(ended: Ended): boolean {
  return 'error' in ended && notMade.includes(sluiceCodeOf(ended.error));
}

/** What says nothing first, then what failed; anything else is as it should be. */
export function judgeBy(isFailure: (ended: Ended) => boolean, isIgnored: (ended: Ended) => boolean): Judge {
  return (ended) => {
    if (wasNotMade(ended) || isIgnored(ended)) return 'ignored';
    return isFailure(ended) ? 'failed' : 'ok';
  };
}

/** What failed unless told otherwise: what threw. */
export function threw(ended: Ended): boolean {
  return 'error' in ended;
}
