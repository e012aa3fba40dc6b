import { TestClock } from 'sluice/testing';
import { expect, it } from 'vitest';
import { Level } from './level.ts';
import type { Waiter } from './waiter.ts';

const never = Number.POSITIVE_INFINITY;

function begin(mostTenants: number) {
  const clock = new TestClock();
  const level = new Level({ priority: 5, clock, weightOf: () => 1, mostTenants });
  const wait = (tenant: string) => {
    const waiter: Waiter = {
      tenant,
      priority: 5,
      sinceMs: clock.now(),
      answer: () => undefined,
      forgetSignal: () => undefined,
      account: undefined,
      inAccount: undefined,
      inArrivals: undefined,
    };
    level.add(waiter, clock.now());
    return waiter;
  };
  /** Whose turns these are, each of so long. */
  const turns = (count: number, eachMs: number) =>
    Array.from({ length: count }, () => {
      const waiter = level.candidate(clock.now(), never)!;
      const account = level.take(waiter, clock.now());
      clock.advance(eachMs);
      level.ended(account, eachMs, clock.now());
      return waiter.tenant;
    }).join(' ');
  return { level, clock, wait, turns };
}

it('forgets tenants as they go, so that any number may come', () => {
  const { level, wait, turns } = begin(3);
  for (let i = 0; i < 100; i += 1) {
    wait(`tenant ${i}`);
    expect(turns(1, 10)).toBe(`tenant ${i}`);
    level.remove(wait(`gone ${i}`));
    level.endedWithoutWaiting(`other ${i}`, 0, 10);
  }
  expect(level.size).toBe(0);
});

it('takes those beyond as many as it may know at once for one tenant, and all of them have their turns', () => {
  const { level, wait, turns } = begin(2);
  for (const tenant of ['a', 'b', 'c', 'd', 'e', 'a', 'b']) wait(tenant);
  expect(turns(7, 10)).toBe('a b c a b d e');
  expect(level.size).toBe(0);
});

it('knows tenants by names of any characters', () => {
  const { wait, turns } = begin(10);
  for (const tenant of ['\ud800', '\udc00', '\ud800', '__proto__', 'é']) wait(tenant);
  expect(turns(5, 10)).toBe('\ud800 \udc00 __proto__ é \ud800');
});

it.each([1, 3])('a stream that had to wait lets nobody starve for it: %i places beside it', (places) => {
  const { level, clock, wait } = begin(10);
  level.take(wait('stream'), clock.now());
  /** Who has the places, where each of these wants all of them. */
  const round = (...tenants: string[]) => {
    for (const tenant of tenants) for (let n = 0; n < places; n += 1) wait(tenant);
    const begun = Array.from({ length: places }, () => {
      const waiter = level.candidate(clock.now(), never)!;
      return { tenant: waiter.tenant, account: level.take(waiter, clock.now()) };
    });
    clock.advance(100);
    for (const { account } of begun) level.ended(account, 100, clock.now());
    return begun.map(({ tenant }) => tenant);
  };
  for (let n = 0; n < 100; n += 1) round('a');
  const served = Array.from({ length: 50 }, () => round('a', 'b')).flat();
  const ofA = served.filter((tenant) => tenant === 'a').length;
  expect(Math.abs(ofA - 25 * places)).toBeLessThanOrEqual(places);
});

it('a newcomer begins where whoever is under way has come to by then', () => {
  const { level, clock, wait, turns } = begin(10);
  const account = level.take(wait('a'), clock.now());
  clock.advance(1000);
  for (let n = 0; n < 4; n += 1) wait('b');
  level.ended(account, 1000, clock.now());
  for (let n = 0; n < 4; n += 1) wait('a');
  expect(turns(6, 10)).toBe('b a b a b a');
});
