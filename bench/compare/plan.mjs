// The model behind `sluice plan` against real clusters of one, two and three nodes on this machine.
import { runPieces } from './pieces.mjs';
import { choicesOfPlan as choices } from './plan/choices.mjs';
import { latency } from './plan/latency.mjs';
import { throughput } from './plan/throughput.mjs';

/** @param {import('../run.mjs').Run} run */
export function plan(run) {
  return runPieces({ choices, throughput, latency }, run);
}
