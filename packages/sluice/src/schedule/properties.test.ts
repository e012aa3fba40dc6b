import fc from 'fast-check';
import { expect, it } from 'vitest';
import { turn } from '../protect/passing-clock.test-support.ts';
import { TestClock } from '../testing/test-clock.ts';
import { schedulers } from './schedulers.test-support.ts';
import { shedPolicies } from './settings.ts';

const options = fc.record({
  concurrency: fc.integer({ min: 1, max: 4 }),
  capacity: fc.integer({ min: 0, max: 6 }),
  shed: fc.constantFrom(...shedPolicies),
});

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(...'run run run run deadline end end throw abort abortAll time turn close'.split(' ')),
    which: fc.nat({ max: 60 }),
  }),
  { maxLength: 80, size: 'max' },
);

interface Caller {
  readonly stop: AbortController;
  begun: number;
  endings: string[];
  end: ((how: 'answer' | 'down') => void) | undefined;
}

const ofOnesNotRun = ['queue-full', 'task-expired', 'scheduler-closed', 'gave up'];

it.each(schedulers)(
  'the %s: whatever happens, each task is run once or refused, never both, never neither',
  async (_, make) => {
    await fc.assert(
      fc.asyncProperty(options, steps, async (given, life) => {
        const clock = new TestClock();
        const scheduler = make({ ...given, clock });
        const callers: Caller[] = [];
        const everybody = new AbortController();
        const events = { started: 0, ended: 0, shed: 0, expired: 0, removed: 0 };
        for (const name of ['started', 'ended', 'shed', 'expired', 'removed'] as const)
          scheduler.on(name, () => {
            events[name] += 1;
          });
        let underWay = 0;

        const task = (caller: Caller) =>
          new Promise<string>((resolve, reject) => {
            underWay += 1;
            caller.begun += 1;
            caller.end = (how) => {
              underWay -= 1;
              caller.end = undefined;
              if (how === 'answer') resolve(how);
              else reject(new Error(how));
            };
          });

        function run(deadlineMs: number): void {
          const stop = new AbortController();
          const caller: Caller = { stop, begun: 0, endings: [], end: undefined };
          callers.push(caller);
          // Some have a signal of their own, the others share one.
          const { signal } = callers.length % 2 === 0 ? stop : everybody;
          scheduler
            .run(() => task(caller), { signal, deadlineMs })
            .then(
              (answer) => caller.endings.push(answer),
              (error) => caller.endings.push(error.code ?? error.message),
            );
        }

        for (const { what, which } of life) {
          const running = callers.filter(({ end }) => end);
          if (what === 'run') run(Number.POSITIVE_INFINITY);
          else if (what === 'deadline') run(clock.now() + which - 5);
          else if (what === 'abort') callers[which % Math.max(1, callers.length)]?.stop.abort(new Error('gave up'));
          else if (what === 'abortAll' && which < 5) everybody.abort(new Error('gave up'));
          else if (what === 'close' && which < 5) scheduler.close();
          else if (what === 'time') clock.advance(which);
          else if (what === 'turn') await turn();
          else if (what === 'end' || what === 'throw')
            running[which % Math.max(1, running.length)]?.end?.(what === 'end' ? 'answer' : 'down');
          const { waiting } = scheduler.stats();
          expect(underWay).toBeLessThanOrEqual(given.concurrency);
          expect(waiting).toBeLessThanOrEqual(given.capacity);
          if (what === 'turn' && waiting > 0) expect(underWay).toBe(given.concurrency);
        }

        await turn();
        for (let left = callers.length; left >= 0; left -= 1) {
          for (const { end } of callers) end?.('answer');
          await turn();
        }
        await scheduler.drain();
        for (const { begun, endings } of callers) {
          expect(endings).toHaveLength(1);
          expect([begun, begun === 1 ? ['answer', 'down'] : ofOnesNotRun]).toEqual([
            ofOnesNotRun.includes(endings[0]!) ? 0 : 1,
            expect.arrayContaining(endings),
          ]);
        }
        const { started, ended, shed, expired, removed } = events;
        expect(started).toBe(ended);
        expect(started + shed + expired + removed).toBe(callers.length);
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 100 },
    );
  },
);
