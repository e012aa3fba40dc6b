import type { Outcome } from '../outcome.ts';
import type { Experiment, Result } from './experiment.ts';

/** The numbers of the page for machines. A wait without an end is `null`, as on every wire of Sluice. */
export function reportJson({ options, clients, results }: Experiment): string {
  const data = {
    seed: options.seed,
    seconds: options.seconds,
    clients: clients.map(({ name, habit, traffic }) => ({ name, habit, asked: [...traffic].length })),
    results: results.map(resultData),
  };
  return JSON.stringify(data, null, 2);
}

function resultData({ policy, expression, counts, worstWindow, perClient, firstRefusal }: Result) {
  return {
    algorithm: policy.algorithm,
    expression,
    policy,
    ...counts,
    worstWindow,
    clients: perClient.map((each) => ({ name: each.client, ...each.counts, worstWindow: each.worstWindow })),
    firstRefusal: firstRefusal === undefined ? null : refusalData(firstRefusal),
  };
}

function refusalData({ key, atMs, decision: { policy: _policy, ...decision } }: Outcome) {
  return { client: key, atMs, decision };
}
