import { memoryStore, slidingLog } from 'sluice';
import { expect, test } from 'vitest';
import { stateBytes } from './state-bytes.ts';

test('is not less than about what the text of the state has', () => {
  const store = memoryStore();
  const policy = slidingLog({ limit: 50, window: '1m' });
  for (let i = 0; i < 2000; i += 1) store.apply([{ name: 'rule', key: `user ${i % 100}`, policy, cost: 1 }]);
  const state = { shard: 1, nowMs: 0, doubts: [], settled: ['rule user 1'], snapshot: store.snapshot() };
  const bytes = stateBytes(state);
  const textBytes = JSON.stringify(state).length;
  expect(bytes).toBeGreaterThan(textBytes * 0.5);
  expect(bytes).toBeLessThan(textBytes * 3);
});
