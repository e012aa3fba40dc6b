/** Whether people who do not see or do not point can use what is shown: axe's rules, and none of them seriously broken. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function expectAccessible(page: Page): Promise<void> {
  // Through the debugger, past the Content-Security-Policy, which has no say in what a test does.
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  );
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join('\n')}`);
  expect(serious).toEqual([]);
  expect(passes.length).toBeGreaterThan(10);
}
