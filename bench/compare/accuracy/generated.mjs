// Half an hour of traffic each, of kinds that every service knows: independent clients (Poisson, 500 of them, a few busy), clients that come in bursts (5 s on, 40 s off),
// timers (each client calls for 3 s around the full minute). Seeded: the same on every machine.
import { merge, onOff, poisson, steady, zipfKeys } from '@sluice/simulator';

const untilMs = 30 * 60_000;

/** @type {readonly import('../accuracy.mjs').Named[]} */
export const generatedTraffic = [
  {
    name: 'independent clients',
    traffic: zipfKeys(poisson(50, { untilMs, seed: 1 }), { count: 500, exponent: 1, seed: 2 }),
  },
  {
    name: 'bursts',
    traffic: merge(
      ...Array.from({ length: 40 }, (_, i) =>
        onOff(poisson(20, { untilMs, key: `client-${i}`, seed: 100 + i }), {
          onMs: 5000,
          offMs: 40_000,
          fromMs: i * 1117,
        }),
      ),
    ),
  },
  {
    name: 'timers',
    traffic: merge(
      ...Array.from({ length: 40 }, (_, i) =>
        // Clocks differ a little: some are early, and fall on both sides of the minute.
        onOff(steady(10 + i, { untilMs, key: `client-${i}` }), { onMs: 3000, offMs: 57_000, fromMs: 58_500 + 50 * i }),
      ),
    ),
  },
];
