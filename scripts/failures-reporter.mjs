// Writes down what failed, tests and errors outside of any test alike, so that it can be said again at the very end: the report on coverage is
// longer than what many a terminal, and many a service that runs tests, keeps.
import { writeFileSync } from 'node:fs';

export const failuresFile = new URL('../.cache/failures.txt', import.meta.url);

export default class FailuresReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest/node').SerializedError[]} errors
   */
  onTestRunEnd(modules, errors) {
    const lines = errors.map((error) => `outside of any test: ${error.stack ?? error.message ?? error}`);
    for (const module of modules) {
      for (const error of module.errors()) lines.push(`${module.moduleId}: ${error.stack ?? error.message}`);
      for (const test of module.children.allTests('failed')) {
        lines.push(
          `${module.moduleId}: ${test.fullName}`,
          ...(test.result().errors ?? []).map((error) => `    ${error.message}`),
        );
      }
    }
    writeFileSync(failuresFile, lines.join('\n'));
  }
}
