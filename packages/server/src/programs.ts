/** Where the programs of this package are, as they are started: bundled into few files (bundle-programs.mjs). */
import { fileURLToPath } from 'node:url';

const pathOf = (file: string) => fileURLToPath(new URL(`../program/${file}`, import.meta.url));

export const programs = {
  /** The `sluice` command. */
  main: pathOf('main.js'),
  /** A thread of the service. */
  worker: pathOf('worker.js'),
  /** Puts load on a service. */
  generator: pathOf('generator.js'),
  /** Measures what a key takes in memory. */
  store: pathOf('store-program.js'),
} as const;
