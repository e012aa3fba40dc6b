// What tests get when they import `fast-check` (vitest.config.ts): the same, with a seed, and with a word on how to repeat a failure.
import fc, { type RunDetails } from 'fast-check';
import { expect, inject } from 'vitest';

fc.configureGlobal({ seed: inject('propertySeed'), reporter: report });

function report(details: RunDetails<unknown>): void {
  if (!details.failed) return;
  const { testPath } = expect.getState();
  const again = `PROPERTY_SEED=${details.seed} node_modules/.bin/vitest run ${testPath?.replace(`${process.cwd()}/`, '')}`;
  const error = new Error(`${fc.defaultReportMessage(details)}\n\nAgain: ${again}`, { cause: details.errorInstance });
  // The test is where it failed, not this file.
  Error.captureStackTrace(error, report);
  throw error;
}

export * from 'fast-check';
export default fc;
