/** Waiting for real processes: they take the time they take, so the only honest way is to ask again. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** How long to go on asking. Default 30 seconds: a busy machine must not turn a right answer into a failure. */
  readonly timeoutMs?: number;
  /** The pause between two questions. Default 15. */
  readonly everyMs?: number;
}

/**
 * Asks until the answer is yes. An error counts as "not yet", because a server that starts refuses connections first;
 * the last one is the cause of the error when the time is up.
 */
export async function waitUntil(
  claim: string,
  isTrue: () => Promise<boolean> | boolean,
  { timeoutMs = 30_000, everyMs = 15 }: WaitOptions = {},
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      if (await isTrue()) return;
    } catch (error) {
      if (error instanceof GaveUp) throw error;
      cause = error;
    }
    if (performance.now() >= endMs) {
      throw new Error(`Waited ${timeoutMs} ms in vain until ${claim}.`, { cause });
    }
    await sleep(everyMs);
  }
}

/** Thrown by a condition that can no longer come true: ends the waiting at once. */
export class GaveUp extends Error {
  override readonly name = 'GaveUp';
}
