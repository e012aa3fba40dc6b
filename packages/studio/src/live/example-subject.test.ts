import { gcra, rules as rulesOf } from 'sluice';
import { expect, test } from 'vitest';
import { exampleSubject, type RuleData } from './example-subject.ts';

const rows: [what: string, rules: RuleData[], subject: Record<string, string>][] = [
  ['no rules', [], {}],
  ['a budget for all', [{ name: 'a', key: 'all' }, { name: 'b' }], {}],
  ['known fields', [{ key: 'ip' }, { key: ['user', 'path'] }], { ip: '203.0.113.9', user: '42', path: '/' }],
  ['unknown fields', [{ key: 'apiKey' }], { apiKey: 'any' }],
  ['the first tier', [{ key: 'user', tiers: { free: {}, paid: {} } }], { user: '42', tier: 'free' }],
  [
    'what a match wants, also of a key',
    [{ key: 'path' }, { key: 'user', match: { path: '/up/*' } }],
    { path: '/up/any', user: '42' },
  ],
  ['the first of several', [{ key: 'ip', match: { method: ['POST', 'PUT'] } }], { method: 'POST', ip: '203.0.113.9' }],
  ['fields of the wrong kind are left out', [{ key: 3, match: 'x', tiers: [1] }], {}],
];

test.each(rows)('%s', (_, rules, subject) => {
  expect(exampleSubject(rules)).toEqual(subject);
});

test('every rule of a small service applies to it', () => {
  const data = [
    { name: 'global', key: 'all' },
    { name: 'per-ip', key: 'ip' },
    { name: 'per-user', key: 'user' },
    { name: 'uploads', key: ['user', 'path'], match: { path: '/upload/*' } },
  ];
  const policy = gcra({ limit: 10, window: '1m' });
  const asked = rulesOf(data.map((rule) => ({ ...rule, policy })));
  const { decisions } = asked.check(exampleSubject(data));
  expect(decisions.map(({ rule }) => rule)).toEqual(data.map(({ name }) => name));
});
