import { expect, test } from 'vitest';
import { type CheckForm, checkBody } from './check-form.ts';

const form: CheckForm = { asks: 'rules', subject: '{"user":"42"}', policy: '{"limit":5}', key: 'me', cost: '1' };

const rows: [what: string, change: Partial<CheckForm>, body: unknown][] = [
  ['a subject', {}, { subject: { user: '42' } }],
  ['a policy and a key', { asks: 'policy' }, { policy: { limit: 5 }, key: 'me' }],
  ['another cost', { cost: '0.5' }, { subject: { user: '42' }, cost: 0.5 }],
  ['no cost', { cost: ' ' }, { subject: { user: '42' } }],
  ['what only the service can judge', { subject: '[1]', cost: '-3' }, { subject: [1], cost: -3 }],
];

test.each(rows)('%s', (_, change, body) => {
  expect(checkBody({ ...form, ...change })).toEqual({ body });
});

test.each<[Partial<CheckForm>, string, string]>([
  [{ subject: '{user: 42}' }, 'subject', 'Subject must be JSON: '],
  [{ asks: 'policy', policy: '' }, 'policy', 'Policy must be JSON: '],
  [{ cost: 'much' }, 'cost', 'Cost must be a number such as 1 or 0.5, got "much".'],
])('%j is wrong at %s', (change, field, problem) => {
  expect(checkBody({ ...form, ...change })).toEqual({ field, problem: expect.stringContaining(problem) });
});
