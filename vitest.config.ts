import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { propertySeedOf } from './checks/properties/property-seed.ts';
import { alone, apart, longest, quiet, slow } from './scripts/test-sets.mjs';

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

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((file) => moduleId.endsWith(file));
      return at < 0 ? longest.length : at;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

const everything = ['packages/**/src/**/*.test.ts', 'checks/**/*.test.ts'];

/** `isolate`: whether each file has a process of its own. */
function set(name: string, include: string[], exclude: string[], isolate: boolean) {
  return {
    extends: true as const,
    test: { name, include, exclude: ['**/node_modules/**', ...exclude], isolate },
  };
}

export default defineConfig({
  plugins: [seededProperties],
  // Nest's decorators are those of TypeScript before the standard had any.
  oxc: { decorator: { legacy: true } },
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    provide: { propertySeed: propertySeedOf(process.env.PROPERTY_SEED) },
    projects: [
      set('together', everything, [...alone, ...apart, ...slow], false),
      set('alone', alone, [], true),
      set('slow', slow, [...alone, ...apart], true),
      set('apart', apart, [...alone, ...quiet], true),
      set('quiet', quiet, [], true),
    ],
    sequence: { sequencer: LongestFirst },
    // Most of the time is spent waiting for servers and processes: one more than there are cores keeps them busy.
    maxWorkers: availableParallelism() + 1,
    // Generous: a busy machine must never turn a right answer into a failure.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // The simulated cluster is run apart, without coverage (scripts/test-sets.mjs).
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
