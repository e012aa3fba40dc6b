// What is asked: which limits, which keys. Windows are short because a node that knows nothing of the past refuses for one.

export const windowMs = 10_000;
export const keys = 100_000;
/** Calls under way at once through one store, for each node. */
export const callersPerNode = 64;

/** More than anybody asks of one key here: a refusal costs less than a grant. */
// biome-ignore format: aligned rows
export const policies = {
  gcra:          { algorithm: 'gcra',        limit: 100,        window: windowMs },
  'sliding-log': { algorithm: 'sliding-log', limit: 100,        window: windowMs },
  /** For keys of which some are asked for all the time. */
  hot:           { algorithm: 'gcra',        limit: 10_000_000, window: windowMs },
};

/**
 * What a process of callers is told. `order`: which keys come when. `deadline`: how old an answer of the cluster may be.
 * @typedef {{
 *   mode: keyof typeof import('./stores.mjs').stores, instances: number, servers: readonly string[], policy: object,
 *   order: 'uniform' | 'zipf', deadline: import('sluice').Duration,
 * }} Setting
 */

/** Whatever is late is still answered, so that it is seen how late; a client of its own would take it for a refusal. */
export const patient = /** @type {const} */ ('1s');
