/** Clocks that jump: the server's, the client's, and both at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../../limit/limiter.ts';
import { freshPrefix } from '../clients.test-support.ts';
import { fenced, limit, type OneServer, trafficOn, withServer } from './one-server.test-support.ts';
import { freshName, quarantineOver, type Traffic, underTraffic } from './traffic.test-support.ts';

const log = slidingLog({ limit, window: '3s' });
const trueNow = Date.now;

const withClock = (run: (one: OneServer) => Promise<void>) => withServer(run, { shiftableClock: true });

/** Traffic with a fence and without, through whatever happens to the clocks. */
async function through(
  { behind, plain }: OneServer,
  jump: (strict: Traffic, unfenced: Traffic) => Promise<void>,
  options = fenced,
): Promise<void> {
  const store = behind(options);
  await quarantineOver(store, log);
  await underTraffic([trafficOn(store, log), trafficOn(plain(), log)] as const, async ([strict, unfenced]) => {
    await Promise.all([strict.untilEachIsGranted(limit), unfenced.untilEachIsGranted(limit)]);
    await jump(strict, unfenced);
    await strict.untilEachIsGranted(limit);
    await Promise.all([strict.stop(), unfenced.stop()]);
    strict.mustHold();
    unfenced.mustBreak();
  });
}

describe('behind a fence, the clock of the server', () => {
  it.concurrent.each([200, 2500])('may jump by %i ms, and back again', (offsetMs) =>
    withClock((one) =>
      through(one, async () => {
        one.server.shiftClock(offsetMs);
        await sleep(1500);
        one.server.shiftClock(0);
      }),
    ),
  );

  it.concurrent('may jump so far that every key expires', () =>
    withClock((one) =>
      through(
        one,
        async (strict, unfenced) => {
          one.server.shiftClock(60_000);
          // Those without a fence have their keys back while those behind one have only noticed.
          await unfenced.untilEachIsGranted(limit);
          await waitUntil('a call notices', () => [...strict.errors.keys()].some((text) => text.includes('ahead')));
          one.server.shiftClock(0);
        },
        { ...fenced, grace: '1s' },
      ),
    ));

  it.concurrent('may not differ by more than the skew, and the error says by how much', () =>
    withClock(async ({ server, behind }) => {
      const limits = limiter(log, { store: behind(), name: freshName() });
      await limits.peek('alice');
      server.shiftClock(1400);
      await expect(limits.peek('alice')).rejects.toMatchObject({ code: 'store-unavailable' });
      await expect(limits.peek('alice')).rejects.toThrow(/clock of Redis is 1\d\d\d ms ahead of this process; 250 ms/);
      server.shiftClock(-1400);
      await expect(limits.peek('alice')).rejects.toThrow(/clock of Redis is 1\d\d\d ms behind this process; 250 ms/);
      server.shiftClock(-150);
      expect((await limits.peek('alice')).reason).toBe('quarantine');
    }));
});

// One after another: this process has one clock.
describe('behind a fence, the clock of this process', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** How far it stands from the true time from now on. */
  function shiftOwnClock(offsetMs: number): void {
    vi.spyOn(Date, 'now').mockImplementation(() => trueNow() + offsetMs);
  }

  it('may jump together with that of the server, as on one machine', () =>
    withClock((one) =>
      through(one, async () => {
        one.server.shiftClock(2000);
        shiftOwnClock(2000);
      }),
    ));

  it.each([
    ['within the skew behind a fence', true, 100],
    ['by an hour without one', false, 3_600_000],
  ])('decides nothing: two clients that differ %s decide alike', (_, isFenced, offsetMs) =>
    withServer(async ({ behind, plain }) => {
      const prefix = freshPrefix();
      const policy = slidingLog({ limit: 6, window: '2s' });
      const made = () => (isFenced ? behind(fenced, prefix) : plain(prefix));
      await quarantineOver(made(), policy);
      const [early, late] = [made(), made()].map((store) => limiter(policy, { store, name: 'shared' }));
      const remaining: (number | undefined)[] = [];
      for (let round = 0; round < 3; round += 1) {
        shiftOwnClock(-offsetMs);
        remaining.push((await early?.check('alice'))?.remaining);
        shiftOwnClock(offsetMs);
        remaining.push((await late?.check('alice'))?.remaining);
      }
      expect(remaining).toEqual([5, 4, 3, 2, 1, 0]);
      const refused = await late?.check('alice');
      shiftOwnClock(-offsetMs);
      const alike = await early?.check('alice');
      expect([refused?.allowed, alike?.allowed]).toEqual([false, false]);
      expect(Math.abs((refused?.retryAfterMs ?? 0) - (alike?.retryAfterMs ?? 0))).toBeLessThan(1000);
    }),
  );
});
