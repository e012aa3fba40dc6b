import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { propertySeedOf } from './checks/properties/property-seed.ts';

// Tests load the sources of every package, so a failing line is a line someone wrote.
// Without `module`: packages mean it for bundlers, and what it names (of @opentelemetry/api) Node cannot load.
const conditions = ['@sluice/source', 'node', 'development|production'];

const seededFastCheck = fileURLToPath(new URL('checks/properties/fast-check.ts', import.meta.url));

/** Whoever imports fast-check gets it with a seed. As a setup file it would load fast-check for every test, and most use none of it. */
const seededProperties: Plugin = {
  name: 'seeded-properties',
  enforce: 'pre',
  resolveId: (id, importer) => (id === 'fast-check' && importer !== seededFastCheck ? seededFastCheck : undefined),
};

export default defineConfig({
  plugins: [seededProperties],
  // Nest's decorators are those of TypeScript before the standard had any.
  oxc: { decorator: { legacy: true } },
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    provide: { propertySeed: propertySeedOf(process.env.PROPERTY_SEED) },
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
