import { type Decision, slidingLog } from 'sluice';
import { expect, test } from 'vitest';
import { RememberedAnswers } from './remembered-answers.ts';

const check = { name: 'rule', key: 'k', policy: slidingLog({ limit: 1, window: 1000 }), cost: 1 };

function counter() {
  let made = 0;
  return () => {
    made += 1;
    return [{ remaining: made } as Decision];
  };
}

test('the same request gets the same answer for a while, and is then a new one', () => {
  const answers = new RememberedAnswers();
  const make = counter();
  expect(answers.once('a', [check], 0, make)).toEqual([{ remaining: 1 }]);
  expect(answers.once('a', [check], 9000, make)).toEqual([{ remaining: 1 }]);
  expect(answers.once('b', [check], 11_000, make)).toEqual([{ remaining: 2 }]);
  expect(answers.once('a', [check], 12_000, make)).toEqual([{ remaining: 1 }]);
  expect(answers.once('a', [check], 40_000, make)).toEqual([{ remaining: 3 }]);
});

test('the same id with something else in it is another request', () => {
  const answers = new RememberedAnswers();
  const make = counter();
  answers.once('a', [check], 0, make);
  expect(answers.once('a', [{ ...check, cost: 2 }], 0, make)).toEqual([{ remaining: 2 }]);
  expect(answers.once('a', [{ ...check, key: 'other' }], 0, make)).toEqual([{ remaining: 3 }]);
});

test('an answer that failed is not remembered', async () => {
  const answers = new RememberedAnswers();
  await expect(answers.once('a', [check], 0, () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  expect(await answers.once('a', [check], 1, counter())).toEqual([{ remaining: 1 }]);
});

test('as many are remembered as there is room for', () => {
  const answers = new RememberedAnswers();
  const make = counter();
  for (let i = 0; i < 150_000; i += 1) answers.once(`${i}`, [check], 0, make);
  expect(answers.once('149999', [check], 0, make)).toEqual([{ remaining: 150_000 }]);
  expect(answers.once('0', [check], 0, make)).toEqual([{ remaining: 150_001 }]);
});
