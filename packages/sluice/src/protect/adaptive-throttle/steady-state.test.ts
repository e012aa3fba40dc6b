// What the formula comes to in the long run. Of X calls a second, of which A are accepted, the share p = 1 - k A / X is
// rejected here (the + 1 does not matter among thousands), so X (1 - p) = k A are sent, whatever X is.
import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { adaptiveThrottle } from './adaptive-throttle.ts';
import type { AdaptiveThrottleOptions } from './settings.ts';

const windowSeconds = 120;

/** Calls at a steady rate; each second tells how many were sent and how many were accepted. */
function client(callsPerSecond: number, options: AdaptiveThrottleOptions = {}) {
  const clock = new TestClock();
  const throttle = adaptiveThrottle({ clock, random: seededRandom(11), ...options });
  return {
    throttle,
    /** `accepts` says whether the service takes the call that is the so-manyeth to reach it in this second. */
    during(seconds: number, accepts: (sentBefore: number) => boolean) {
      const total = { sent: 0, accepted: 0 };
      for (let second = 0; second < seconds; second += 1) {
        let sent = 0;
        for (let call = 0; call < callsPerSecond; call += 1) {
          const pass = throttle.tryPass();
          if (pass) {
            const isAccepted = accepts(sent);
            sent += 1;
            total.sent += 1;
            if (isAccepted) total.accepted += 1;
            pass[isAccepted ? 'ok' : 'failed']();
          }
          clock.advance(1000 / callsPerSecond);
        }
      }
      return { sentPerSecond: total.sent / seconds, acceptedPerSecond: total.accepted / seconds };
    },
  };
}

it.each([
  //  X   capacity  k    sent
  [30, 10, 2, 20],
  [90, 10, 2, 20],
  [30, 10, 1.5, 15],
  [60, 10, 4, 40],
])('of %d calls a second to a service that takes %d, k %d: about %d are sent', (calls, capacity, k, sent) => {
  const { throttle, during } = client(calls, { k, rejectRatioMax: 0.99 });
  during(10 * windowSeconds, (before) => before < capacity);
  const { sentPerSecond, acceptedPerSecond } = during(10 * windowSeconds, (before) => before < capacity);
  expect(sentPerSecond / sent).toBeGreaterThan(0.93);
  expect(sentPerSecond / sent).toBeLessThan(1.05);
  // What the service can do is not left undone.
  expect(acceptedPerSecond).toBeGreaterThan(capacity * 0.93);
  expect(throttle.stats().rejectRatio).toBeGreaterThan(1 - (1.1 * sent) / calls);
});

it('of a service that accepts each call by a chance of less than 1 in k, only the probes are sent', () => {
  // Then k times what is accepted is less than what is sent, again and again: there is no balance but the floor.
  const random = seededRandom(5);
  const { throttle, during } = client(50);
  during(10 * windowSeconds, () => random() < 1 / 3);
  const { sentPerSecond } = during(10 * windowSeconds, () => random() < 1 / 3);
  expect(throttle.stats().rejectRatio).toBe(0.9);
  expect(sentPerSecond).toBeGreaterThan(50 * 0.095);
  expect(sentPerSecond).toBeLessThan(50 * 0.105);
});

it('of a service that accepts more than 1 in k, everything is sent', () => {
  const random = seededRandom(6);
  const { during } = client(50);
  const { sentPerSecond } = during(10 * windowSeconds, () => random() < 0.6);
  expect(sentPerSecond).toBeGreaterThan(49.9);
});

it('finds out that the service is back: at once a little, and within two windows all of it', () => {
  const callsPerSecond = 10;
  const { throttle, during } = client(callsPerSecond);
  during(windowSeconds, () => true);
  during(2 * windowSeconds, () => false);
  expect(throttle.stats()).toMatchObject({ accepts: 0, rejectRatio: 0.9 });
  // A tenth is sent: none of fifty would be a chance of 1 in 200.
  expect(during(5, () => true).acceptedPerSecond).toBeGreaterThan(0);
  // The floor holds for half a window: by then a twentieth was accepted. From there accepts double in a third of a window
  // (dA/dt = 2A / window), and 2.3 of its halves later they are half of the requests.
  const half = during(windowSeconds / 2, () => true);
  expect(half.acceptedPerSecond).toBeLessThan(callsPerSecond * 0.2);
  during(1.5 * windowSeconds - 5, () => true);
  expect(throttle.stats().rejectRatio).toBe(0);
  expect(during(windowSeconds, () => true).sentPerSecond).toBe(callsPerSecond);
});
