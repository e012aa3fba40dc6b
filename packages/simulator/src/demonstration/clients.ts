/** Three callers as every service knows them: one that behaves, one that comes in waves, one that never stops. */
import { merge, onOff, poisson, steady, type Traffic } from '../traffic.ts';

export interface Client {
  readonly name: string;
  /** What it does, in words. */
  readonly habit: string;
  readonly traffic: Traffic;
}

/** Calls at 25 a second, but only for 0.4 s out of every 20 s. */
const waveMs = { onMs: 400, offMs: 19_600 };

export function clients(seed: number, untilMs: number): Client[] {
  const rapid = steady(25, { key: 'bursty', untilMs });
  return [
    {
      name: 'steady',
      habit: 'one call every 1.25 s, always below the limit',
      traffic: steady(0.8, { key: 'steady', untilMs }),
    },
    {
      name: 'bursty',
      habit: '10 calls just before the window of 10 s ends and 10 just after, every 20 s',
      // Both sides of the boundary at 10 s, 30 s, ...: where a fixed window is weakest.
      traffic: merge(onOff(rapid, { ...waveMs, fromMs: 9_500 }), onOff(rapid, { ...waveMs, fromMs: 10_100 })),
    },
    {
      name: 'hammer',
      habit: 'two calls a second on average, at random (Poisson), whatever it is told',
      traffic: poisson(2, { key: 'hammer', untilMs, seed }),
    },
  ];
}
