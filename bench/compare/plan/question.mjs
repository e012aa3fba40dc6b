// What is planned for and what is run: the same policy, client and keys. Windows are short because a node that knows nothing of the past refuses for one.
import { planDefaults } from '../../../packages/server/dist/plan/plan-question.js';

export const policy = { algorithm: 'sliding-log', limit: 100, window: 1000 };
export const keyBytes = 20;
/** That the generator asks about, at random, over all nodes. */
export const keys = 100_000;

/** @type {import('../../../packages/server/src/plan/plan-question.ts').PlanQuestion} */
export const question = {
  ...planDefaults,
  checksPerSecond: keys,
  users: keys,
  policy,
  keyBytes,
  gatherMs: 0,
  roundTripMs: 0,
};

/** @type {import('../../../packages/server/src/plan/measure/store-figures.ts').StoreOrder} */
export const storeOrder = {
  policy,
  keyBytes,
  graceMs: question.graceMs,
  keysPerStore: 100,
  checksPerKey: 1,
  mostChecks: 100_000,
};
