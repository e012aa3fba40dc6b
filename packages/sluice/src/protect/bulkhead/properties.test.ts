import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { bulkhead } from './bulkhead.ts';

const options = fc.record(
  {
    limit: fc.integer({ min: 1, max: 4 }),
    queue: fc.integer({ min: 0, max: 5 }),
    queueTimeout: fc.integer({ min: 5, max: 60 }),
  },
  { requiredKeys: ['limit', 'queue'] },
);

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      'run',
      'run',
      'run',
      'run',
      'try',
      'end',
      'end',
      'throw',
      'abort',
      'abortAll',
      'time',
      'turn',
    ),
    which: fc.nat({ max: 50 }),
  }),
  { maxLength: 80 },
);

interface Caller {
  readonly number: number;
  readonly stop: AbortController;
  endings: string[];
  end: ((how: 'end' | 'throw') => void) | undefined;
}

it('whatever callers do: never too many, in order, and each gets exactly one ending', async () => {
  await fc.assert(
    fc.asyncProperty(options, steps, async (given, life) => {
      const clock = new TestClock();
      const hull = bulkhead({ ...given, clock });
      const callers: Caller[] = [];
      const begun: number[] = [];
      const everybody = new AbortController();
      let under = 0;

      const called = (caller: Caller) =>
        new Promise<string>((resolve, reject) => {
          under += 1;
          begun.push(caller.number);
          caller.end = (how) => {
            under -= 1;
            caller.end = undefined;
            if (how === 'end') resolve('answer');
            else reject(new Error('down'));
          };
        });

      function call(): void {
        const stop = new AbortController();
        const caller: Caller = { number: callers.length, stop, endings: [], end: undefined };
        callers.push(caller);
        // Some have a signal of their own, the others share one.
        const { signal } = caller.number % 2 === 0 ? stop : everybody;
        hull
          .run(() => called(caller), { signal })
          .then(
            (answer) => caller.endings.push(answer),
            (error) => caller.endings.push(error.code ?? error.message),
          );
      }

      const turn = async () => {
        for (let i = 0; i < 10; i += 1) await Promise.resolve();
      };

      for (const { what, which } of life) {
        const running = callers.filter(({ end }) => end);
        if (what === 'run') call();
        else if (what === 'try') {
          const pass = hull.tryPass();
          expect(hull.stats().inFlight).toBeLessThanOrEqual(given.limit);
          pass?.ok();
        } else if (what === 'abort') callers[which % Math.max(1, callers.length)]?.stop.abort(new Error('gave up'));
        else if (what === 'abortAll' && which < 5) everybody.abort(new Error('gave up'));
        else if (what === 'time') clock.advance(which);
        else if (what === 'turn') await turn();
        else if (what === 'end' || what === 'throw') running[which % Math.max(1, running.length)]?.end?.(what);
        const { inFlight, waiting } = hull.stats();
        expect(under).toBeLessThanOrEqual(given.limit);
        expect(inFlight).toBeLessThanOrEqual(given.limit);
        expect(waiting).toBeLessThanOrEqual(given.queue);
        // Nobody waits while a place is free.
        if (waiting > 0) expect(inFlight).toBe(given.limit);
      }

      // Those who began did so in the order in which they came.
      expect(begun).toEqual([...begun].sort((a, b) => a - b));
      await turn();
      for (let left = callers.length; left >= 0; left -= 1) {
        for (const { end } of callers) end?.('end');
        await turn();
      }
      await hull.drain();
      expect(callers.filter(({ endings }) => endings.length !== 1)).toEqual([]);
      expect(new Set(callers.flatMap(({ endings }) => endings))).not.toContain(undefined);
      expect(hull.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
      expect(clock.sleeping).toBe(0);
      // Whoever began got what the call said, and whoever did not was refused or gave up.
      for (const { number, endings } of callers)
        expect(begun.includes(number) ? ['answer', 'down'] : ['bulkhead-full', 'gave up']).toContain(endings[0]);
    }),
    { numRuns: 500 },
  );
});
