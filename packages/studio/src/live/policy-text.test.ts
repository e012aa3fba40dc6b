import { concurrency, gcra, type Policy, slidingSlots, tokenBucket } from 'sluice';
import { expect, test } from 'vitest';
import { policyText } from './policy-text.ts';

const rows: [policy: Policy, text: string][] = [
  [gcra({ limit: 100, window: '1m' }), 'gcra 100 per 1 min'],
  [gcra({ limit: 100, window: '1m', burst: 20 }), 'gcra 100 per 1 min, burst 20'],
  [slidingSlots({ limit: 5, window: 250 }), 'sliding-slots 5 per 250 ms, slots 60'],
  [
    tokenBucket({ limit: 1, window: '1s', burst: 3, refill: 'interval' }),
    'token-bucket 1 per 1 s, burst 3, refill interval',
  ],
  [concurrency({ limit: 4, lease: 1000 }), 'concurrency 4, lease 1000'],
];

test.each(rows)('%j is %s', (policy, text) => {
  expect(policyText(JSON.parse(JSON.stringify(policy)))).toBe(text);
});
