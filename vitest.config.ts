import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests load the sources of every package, so a failing line is a line someone wrote.
// Without `module`: packages mean it for bundlers, and what it names (of @opentelemetry/api) Node cannot load.
const conditions = ['@sluice/source', 'node', 'development|production'];

export default defineConfig({
  // Nest's decorators are those of TypeScript before the standard had any.
  oxc: { decorator: { legacy: true } },
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/**/src/**/*.test.ts', 'checks/**/*.test.ts'],
    // Most of the time is spent waiting for servers and processes: one more than there are cores keeps them busy.
    maxWorkers: availableParallelism() + 1,
    // Generous: a busy machine must never turn a right answer into a failure.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // The simulated cluster is run apart, without coverage (scripts/test.mjs).
      exclude: [
        'packages/simulator/src/cluster/**',
        '**/*.test.ts',
        '**/*.test-d.ts',
        '**/*.bench.ts',
        '**/index.ts',
        '**/demonstration/**',
      ],
      reporter: [['text', { skipFull: true }], 'html'],
      reportsDirectory: 'coverage',
      thresholds: { lines: 90 },
    },
  },
});
