/**
 * Load on a cluster while faults happen to it. Every key is asked about by every client, much more often than its limit has room for, so that an owner
 * that forgot what was granted would soon be seen. Callers make breaks of random length: otherwise all keys that were refused during one fault would be
 * granted in the same moment for ever after, and the next fault might find none with grants that still count.
 *
 * Callers do not wait for an answer before they ask again: a node that stood still finds questions when it wakes. What comes later than `graceMs` after it
 * was sent is not used, as the documentation asks of callers.
 */
import { waitUntil } from '@sluice/test-servers';
import type { Caller } from './callers.test-support.ts';
import type { CallOutcome, RecordedCall } from './history.test-support.ts';

export interface LoadOptions {
  readonly callers: readonly Caller[];
  readonly keys: readonly string[];
  readonly graceMs: number;
  /** How long a client pauses between two questions about a key. */
  everyMs(key: string): number;
  /** Whether its callers make breaks, all at once. Default: none does. */
  hasBreaks?(key: string): boolean;
}

/** The shortest and the longest stretch of asking, and of not asking. */
const stretchMs = [200, 1200] as const;

export interface Load {
  readonly calls: readonly RecordedCall[];
  /** How often which error was met, by client and text with the numbers left out. */
  readonly errors: ReadonlyMap<string, number>;
  /** Waits until each of the keys is granted so often, from now on. Refusing for ever would fail here. */
  untilEachIsGranted(keys: readonly string[], times: number): Promise<void>;
  stop(): Promise<void>;
}

export function startLoad({ callers, keys, graceMs, everyMs, hasBreaks = () => false }: LoadOptions): Load {
  const calls: RecordedCall[] = [];
  const errors = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  const quiet = new Set<string>();
  let unanswered = 0;

  function count(what: string): void {
    errors.set(what, (errors.get(what) ?? 0) + 1);
  }

  async function ask(caller: Caller, key: string): Promise<void> {
    const sentMs = performance.now();
    const over = (outcome: CallOutcome) => {
      isOver = true;
      clearTimeout(timer);
      calls.push({ key, sentMs, receivedMs: performance.now(), outcome });
    };
    let isOver = false;
    const timer = setTimeout(() => {
      count(`${caller.name}: no answer in time`);
      over('failed');
    }, graceMs);
    unanswered += 1;
    try {
      const isGranted = await caller.ask(key);
      const isLate = isOver || performance.now() - sentMs > graceMs;
      if (!isOver) over(isLate ? 'failed' : isGranted ? 'granted' : 'refused');
      if (isGranted && isLate) calls.push({ key, sentMs, receivedMs: performance.now(), outcome: 'late' });
    } catch (error) {
      count(`${caller.name}: ${String(error).replace(/\d+/g, 'n').slice(0, 120)}`);
      if (!isOver) over('failed');
    } finally {
      unanswered -= 1;
    }
  }

  function after(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  }

  function changeLater(key: string): void {
    const [shortestMs, longestMs] = stretchMs;
    after(shortestMs + Math.random() * (longestMs - shortestMs), () => {
      if (!quiet.delete(key)) quiet.add(key);
      changeLater(key);
    });
  }

  for (const key of keys) {
    if (hasBreaks(key)) changeLater(key);
    for (const caller of callers) {
      const everyKeyMs = everyMs(key);
      // The first at a moment of its own, so that not all keys are asked about at once.
      after(Math.random() * everyKeyMs, () => {
        timers.add(setInterval(() => quiet.has(key) || void ask(caller, key), everyKeyMs));
      });
    }
  }

  return {
    calls,
    errors,
    async untilEachIsGranted(some, times) {
      const fromMs = performance.now();
      const missing = () => {
        const counts = new Map<string, number>(some.map((key) => [key, 0]));
        for (let i = calls.length - 1; i >= 0 && calls[i]!.receivedMs >= fromMs; i -= 1) {
          const { key, outcome } = calls[i]!;
          if (outcome === 'granted' && counts.has(key)) counts.set(key, counts.get(key)! + 1);
        }
        return [...counts].filter(([, granted]) => granted < times).map(([key]) => key);
      };
      await waitUntil(`each of ${some.length} keys is granted ${times} times`, () => missing().length === 0, {
        timeoutMs: 40_000,
        everyMs: 50,
      }).catch((cause: unknown) => {
        const seen = JSON.stringify(Object.fromEntries(errors), null, 1);
        throw new Error(`${String(cause)} Missing: ${missing().join(' ')}\n${seen}`, { cause });
      });
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      // Answers that are still on their way are only waited for as long as anybody would use them.
      await waitUntil('all answers have come', () => unanswered === 0, { timeoutMs: 2 * graceMs }).catch(
        () => undefined,
      );
      await Promise.all(callers.map((caller) => caller.close()));
    },
  };
}
