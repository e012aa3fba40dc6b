/** What every store has to do, done by `sluice/client` through a real door over a real socket. */
import { type Clock, monotonicClock, type Store } from 'sluice';
import { clusterStore } from 'sluice/client';
import { conformance } from 'sluice/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openNode } from './client.test-support.ts';

/**
 * A cluster decides by its own time, and the suite gives the time with each call: the node's clock is set to it, and the client's too.
 * Deadlines are of no interest here.
 */
async function storeOnItsOwnTime({ clock: given }: { readonly clock: Clock }): Promise<Store> {
  let nowMs = given.now();
  const clock: Clock = { now: () => nowMs, sleep: monotonicClock.sleep };
  const node = await openNode({ clock });
  const client = clusterStore({ nodes: [node.address], deadline: '1h', clock });
  onTestFinished(() => client.close());
  return {
    mode: 'async',
    clock,
    apply(checks, atMs, requestId) {
      nowMs = atMs ?? nowMs;
      return client.apply(checks, undefined, requestId);
    },
  };
}

// A service takes no policy from a client whose state could fill its memory.
const tooLarge: readonly string[] = [
  'sliding-log: 10 million per second',
  'sliding-slots: ten thousand slots of a tenth of a millisecond',
  'concurrency: ten million places',
];

describe('the client of the cluster, as a store', () => {
  for (const { name, run } of conformance.filter((each) => !tooLarge.includes(each.name))) {
    it(name, () => run(storeOnItsOwnTime));
  }

  it.each(tooLarge)('is told that the service does not take %s', async (name) => {
    const { run } = conformance.find((each) => each.name === name) ?? expect.fail();
    await expect(run(storeOnItsOwnTime)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('that comes with a request'),
    });
  });
});
