#!/usr/bin/env node
// What `npx sluice-server` and `sluice` run. In a clone of the repository the program has to be built first.
import { existsSync } from 'node:fs';

const program = new URL('../program/main.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  console.error('sluice is not built yet. Run `npm run build` (or `npm start`, which also does it).');
  process.exitCode = 2;
}
