import { type Decision, slidingLog } from 'sluice';
import { describe, expect, test } from 'vitest';
import { RememberedAnswers } from './remembered-answers.ts';

const check = { name: 'rule', key: 'k', policy: slidingLog({ limit: 1, window: 1000 }), cost: 1 };

function counter(allowed = false) {
  let made = 0;
  return () => {
    made += 1;
    return [{ allowed, remaining: made } as Decision];
  };
}

/** A refusal, the nth that was made. */
const refusal = (remaining: number) => [{ allowed: false, remaining }];

test('the same request gets the same answer for a while, and is then a new one', () => {
  const answers = new RememberedAnswers(10);
  const make = counter();
  expect(answers.once('a', [check], 0, make)).toEqual(refusal(1));
  expect(answers.once('a', [check], 9000, make)).toEqual(refusal(1));
  expect(answers.once('b', [check], 11_000, make)).toEqual(refusal(2));
  expect(answers.once('a', [check], 12_000, make)).toEqual(refusal(1));
  expect(answers.once('a', [check], 40_000, make)).toEqual(refusal(3));
});

test('the same id with something else in it is another request', () => {
  const answers = new RememberedAnswers(10);
  const make = counter();
  answers.once('a', [check], 0, make);
  expect(answers.once('a', [{ ...check, cost: 2 }], 0, make)).toEqual(refusal(2));
  expect(answers.once('a', [{ ...check, key: 'other' }], 0, make)).toEqual(refusal(3));
});

test('a reservation is settled once, whatever was really used', () => {
  const answers = new RememberedAnswers(10);
  const make = counter(true);
  const settle = { ...check, operation: 'settle', receipt: [7] } as const;
  const first = answers.once('a', [{ ...settle, actual: 3 }], 0, make);
  expect(answers.once('a', [{ ...settle, actual: 0 }], 5000, make)).toBe(first);
  expect(answers.once('a', [{ ...settle, actual: 0, receipt: [8] }], 5000, make)).not.toBe(first);
});

describe('what was granted', () => {
  const tooOld = 'longer ago than a grant may be used';

  test.each(['check', 'reserve', 'acquire', 'take', 'renew'] as const)(
    'by %s is granted again for the grace, and no longer',
    (operation) => {
      const answers = new RememberedAnswers(50);
      const asked = [{ ...check, operation }];
      const first = answers.once('a', asked, 0, counter(true));
      expect(answers.once('a', asked, 50, counter(true))).toBe(first);
      expect(() => answers.once('a', asked, 51, counter(true))).toThrow(tooOld);
    },
  );

  test.each(['peek', 'settle', 'release', 'reset', 'block'] as const)(
    'by %s is nothing that anybody could use too late',
    (operation) => {
      const answers = new RememberedAnswers(50);
      const asked = [{ ...check, operation }];
      const first = answers.once('a', asked, 0, counter(true));
      expect(answers.once('a', asked, 5000, counter(true))).toBe(first);
    },
  );

  test('counts from when it was decided, though it is still waited for', async () => {
    const answers = new RememberedAnswers(50);
    const make = counter(true);
    let confirm = () => {};
    const first = answers.once('a', [check], 0, async () => {
      await new Promise<void>((resolve) => {
        confirm = resolve;
      });
      return make();
    });
    const again = answers.once('a', [check], 60, make);
    confirm();
    expect(await first).toEqual([{ allowed: true, remaining: 1 }]);
    await expect(again).rejects.toThrow(tooOld);
  });

  test('is nothing where the batch was refused; a shadow refuses none', () => {
    const answers = new RememberedAnswers(50);
    const half = () => [{ allowed: true }, { allowed: false }] as Decision[];
    const refused = answers.once('a', [check, check], 0, half);
    expect(answers.once('a', [check, check], 5000, half)).toBe(refused);
    expect(() => {
      for (const nowMs of [0, 5000]) answers.once('b', [check, { ...check, shadow: true }], nowMs, half);
    }).toThrow(tooOld);
  });
});

test('an answer that failed is not remembered', async () => {
  const answers = new RememberedAnswers(10);
  await expect(answers.once('a', [check], 0, () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  expect(await answers.once('a', [check], 1, counter())).toEqual(refusal(1));
});

test('what was taken for a batch is not granted again once it was given back', () => {
  const answers = new RememberedAnswers(10);
  const make = counter(true);
  const cancel = { ...check, operation: 'settle', actual: 0, receipt: [7] } as const;
  const first = answers.once('a reserve', [check], 0, make);
  answers.once('b cancel', [cancel], 1, make);
  expect(answers.once('a reserve', [check], 1, make)).toBe(first);
  answers.once('a cancel', [cancel], 2, make);
  const second = answers.once('a reserve', [check], 3, make);
  expect(second).not.toBe(first);
  // It is given back once: what was taken since is another reservation.
  answers.once('a cancel', [cancel], 4, make);
  expect(answers.once('a reserve', [check], 5, make)).toBe(second);
});

test('as many are remembered as there is room for', () => {
  const answers = new RememberedAnswers(10);
  const make = counter();
  for (let i = 0; i < 150_000; i += 1) answers.once(`${i}`, [check], 0, make);
  expect(answers.once('149999', [check], 0, make)).toEqual(refusal(150_000));
  expect(answers.once('0', [check], 0, make)).toEqual(refusal(150_001));
});
