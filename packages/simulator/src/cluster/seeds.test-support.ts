/** The first histories of a theme: nothing to object to in any of them. */
import { describe, expect, test } from 'vitest';
import { type Theme, themeNames } from './faults.ts';
import { history } from './history.ts';
import { themeOf } from './plan.ts';
import { replayCommand } from './soak.ts';

// With five themes, two thousand.
const seedsPerTheme = 400;
const seedsPerTest = 40;

export function expectSeedsToHold(theme: Theme): void {
  const seeds = Array.from({ length: seedsPerTheme }, (_, i) => themeNames.indexOf(theme) + i * themeNames.length);
  const groups = Array.from({ length: seedsPerTheme / seedsPerTest }, (_, i) =>
    seeds.slice(i * seedsPerTest, (i + 1) * seedsPerTest),
  );
  describe(`histories of ${theme} keep every promise, and come to rest`, () => {
    test.each(groups.map((group) => [group[0]!, group.at(-1)!, group] as const))(
      'seeds %d to %d',
      { timeout: 300_000 },
      async (_, __, group) => {
        for (const seed of group) {
          expect(themeOf(seed)).toBe(theme);
          const report = await history(seed);
          const trouble = report.objections.length === 0 ? '' : `${report.describe()}\n\nagain: ${replayCommand(seed)}`;
          expect(trouble).toBe('');
          expect(report.used).toBeGreaterThan(0);
        }
      },
    );
  });
}
