// The Lua that is sent to servers is the Lua that is in the repository, and its numbers are those of the TypeScript.
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { type Algorithm, algorithmOf } from '../packages/sluice/src/algorithms/algorithm.ts';
import { concurrency } from '../packages/sluice/src/algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../packages/sluice/src/algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../packages/sluice/src/algorithms/gcra/gcra.ts';
import { leakyBucket } from '../packages/sluice/src/algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../packages/sluice/src/algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../packages/sluice/src/algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../packages/sluice/src/algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../packages/sluice/src/algorithms/smooth/smooth.ts';
import { tokenBucket } from '../packages/sluice/src/algorithms/token-bucket/token-bucket.ts';
import { twins } from '../packages/sluice/src/stores/redis/lua.generated.ts';
import type { Policy } from '../packages/sluice/src/vocabulary/policy.ts';
import { moduleFile, moduleText } from '../scripts/twins.mjs';

const rate = { limit: 5, window: 1000 };

/** Policies of every algorithm, of each twin at least one. */
const policies: readonly Policy[] = [
  gcra(rate),
  tokenBucket(rate),
  tokenBucket({ ...rate, initial: 2 }),
  tokenBucket({ ...rate, refill: 'interval' }),
  leakyBucket(rate),
  leakyBucket({ ...rate, delay: 'none' }),
  fixedWindow(rate),
  fixedWindow({ ...rate, align: 'first', wait: 500 }),
  slidingLog(rate),
  slidingLog({ ...rate, countRejected: true, minGap: 10 }),
  slidingSlots(rate),
  slidingWindow(rate),
  smooth(rate),
  smooth({ ...rate, warmup: 100 }),
  concurrency({ limit: 5 }),
];

const twinOf = ({ twin, name }: Algorithm) => twin ?? name;

test('lua.generated.ts is what scripts/twins.mjs makes of the .lua files', () => {
  expect(readFileSync(moduleFile, 'utf8')).toBe(moduleText());
});

describe('every twin', () => {
  it('belongs to an algorithm, and every algorithm has one', () => {
    expect(Object.keys(twins).sort()).toEqual(
      [...new Set(policies.map((policy) => twinOf(algorithmOf(policy))))].sort(),
    );
  });

  it('has a code of its own, that no key could mistake for a block', () => {
    const codes = Object.values(twins).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    // One byte of a message pack each, and 0 stands for what is beside the state.
    for (const code of codes) expect(Number.isInteger(code) && code >= 1 && code <= 127).toBe(true);
  });

  // A number stands for a truth that the twin reads as 1 or 0.
  it.each(policies)('takes numbers that its algorithm prepares: %j', (policy) => {
    const algorithm = algorithmOf(policy);
    const prepared = algorithm.prepare(policy, 0, 0) as unknown as Record<string, unknown>;
    const fields = twins[twinOf(algorithm)]?.fields ?? [];
    expect(fields.length).toBeGreaterThan(0);
    for (const field of fields) {
      const name = field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      expect([field, typeof prepared[name]]).toEqual([field, expect.stringMatching(/^(number|boolean)$/)]);
      expect([field, Number.isNaN(Number(prepared[name]))]).toEqual([field, false]);
    }
  });
});
