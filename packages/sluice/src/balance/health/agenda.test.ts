import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PassingClock, turn } from '../../protect/passing-clock.test-support.ts';
import { Agenda, type Appointment } from './agenda.ts';

function begin(clock = new PassingClock(1000)) {
  const errors: unknown[] = [];
  const done: string[] = [];
  const agenda = new Agenda(clock, (error) => errors.push(error));
  const note = (name: string) => () => done.push(`${name}@${clock.now()}`);
  return { clock, agenda, errors, done, note };
}

test('does each thing at its time, the earlier first, equals in the order in which they were written down', async () => {
  const { clock, agenda, done, note } = begin();
  agenda.after(300, note('late'));
  agenda.after(100, note('one'));
  agenda.after(100, note('two'));
  agenda.after(50, () => agenda.after(25, note('then')));
  await clock.pass(500);
  expect(done).toEqual(['then@1075', 'one@1100', 'two@1100', 'late@1300']);
  expect(clock.sleeping).toBe(0);
});

test('has one alarm, for whatever is first, and none for what was cancelled', async () => {
  const { clock, agenda, done, note } = begin();
  const appointments = [300, 200, 100].map((ms) => agenda.after(ms, note(`${ms}`)));
  expect(clock.sleeping).toBe(1);
  agenda.cancel(appointments[2]);
  agenda.cancel(appointments[2]);
  agenda.cancel(undefined);
  await clock.pass(250);
  expect(done).toEqual(['200@1200']);
  agenda.cancel(appointments[0]);
  expect(clock.sleeping).toBe(0);
});

test('what is due is done by whoever looks, before the alarm', () => {
  const { clock, agenda, done, note } = begin();
  agenda.after(100, note('due'));
  agenda.after(101, note('not yet'));
  clock.advance(100);
  agenda.catchUp();
  expect(done).toEqual(['due@1100']);
  agenda.catchUp();
  expect(done).toHaveLength(1);
});

test('who looks while something is being done does nothing twice', () => {
  const { clock, agenda, done, note } = begin();
  agenda.after(1, () => {
    agenda.catchUp();
    note('outer')();
  });
  agenda.after(1, note('next'));
  clock.advance(5);
  agenda.catchUp();
  expect(done).toEqual(['outer@1005', 'next@1005']);
});

test('what throws is told, and the rest is done', async () => {
  const { clock, agenda, done, errors, note } = begin();
  agenda.after(10, () => {
    throw new Error('mine');
  });
  agenda.after(10, note('rest'));
  await clock.pass(20);
  expect(errors).toEqual([new Error('mine')]);
  expect(done).toEqual(['rest@1010']);
});

test('a clock that is set back moves nothing further away', async () => {
  const { clock, agenda, done, note } = begin();
  agenda.after(100, note('due'));
  clock.set(0);
  agenda.after(50, note('sooner'));
  await clock.pass(200);
  expect(done.map((each) => each.split('@')[0])).toEqual(['sooner', 'due']);
});

test('an alarm that goes off is believed, also when the clock was set back while it slept', async () => {
  let nowMs = 1e6;
  let wake = () => {};
  const sleep = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  const done: number[] = [];
  const agenda = new Agenda({ now: () => nowMs, sleep }, () => undefined);
  agenda.after(100, () => done.push(nowMs));
  nowMs = 0;
  wake();
  await turn();
  expect(done).toEqual([0]);
});

test('closed, it has no alarm, and is still done by whoever looks', () => {
  const { clock, agenda, done, note } = begin();
  agenda.after(10, note('due'));
  agenda.close();
  expect(clock.sleeping).toBe(0);
  agenda.after(10, note('also'));
  expect(clock.sleeping).toBe(0);
  clock.advance(10);
  agenda.catchUp();
  expect(done).toEqual(['due@1010', 'also@1010']);
});

test('does what was not cancelled, once, and never early, whatever is written down when', async () => {
  const step = fc.record({
    ms: fc.integer({ min: 0, max: 50 }),
    gapMs: fc.integer({ min: 0, max: 30 }),
    cancels: fc.option(fc.nat()),
    isLooking: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const { clock, agenda } = begin();
      const all: { appointment: Appointment; dueMs: number; doneMs: number[]; isCancelled: boolean }[] = [];
      for (const { ms, gapMs, cancels, isLooking } of steps) {
        const doneMs: number[] = [];
        const appointment = agenda.after(ms, () => doneMs.push(clock.now()));
        all.push({ appointment, dueMs: clock.now() + Math.max(1, ms), doneMs, isCancelled: false });
        if (cancels !== null) {
          const one = all[cancels % all.length]!;
          one.isCancelled ||= one.doneMs.length === 0;
          agenda.cancel(one.appointment);
        }
        await clock.pass(gapMs);
        if (isLooking) agenda.catchUp();
      }
      await clock.pass(100);
      for (const { dueMs, doneMs, isCancelled } of all) expect(doneMs).toEqual(isCancelled ? [] : [dueMs]);
      expect(clock.sleeping).toBe(0);
    }),
    { numRuns: 50 },
  );
});
