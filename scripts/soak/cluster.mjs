// Histories of the simulated cluster: each seed is one, and the auditor judges it.
import { soak as runHistories } from '../../packages/simulator/dist/cluster/soak.js';

/** @param {readonly string[]} options */
export async function soak(options) {
  if (!(await runHistories(options))) throw new Error('a history was objected to: see above');
}
