/** Small results that can be drawn by hand, and checked by eye. */
import type { ScenarioResult } from '@sluice/simulator';

/** Two limiters under a burst; one claim holds, one does not. */
export const someResult: ScenarioResult = {
  name: 'A burst at the edge',
  about: 'A burst on each side of a boundary. A fixed window lets twice its limit pass; a log does not.',
  seed: 7,
  durationMs: 20_000,
  sliceMs: 1000,
  arrivals: 160,
  variants: [
    {
      name: 'fixed-window',
      measures: {
        allowed: { value: 120, unit: 'count' },
        refusedRatio: { value: 0.25, unit: 'ratio' },
        worstWindow: { value: 80, unit: 'count' },
        waitedMsMax: { value: 1250, unit: 'ms' },
      },
      series: [
        {
          name: 'allowed',
          kind: 'allowed',
          unit: 'count',
          values: [0, 0, 4, 8, 8, 8, 8, 4, 0, 40, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        {
          name: 'refused',
          kind: 'refused',
          unit: 'count',
          values: [0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 19, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        },
        {
          name: 'level',
          kind: 'level',
          unit: 'count',
          values: [0, 0, 4, 12, 20, 28, 36, 40, 40, 80, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40],
        },
      ],
      notes: ['First refusal at 9 s: remaining 0, retry after 1 s.'],
    },
    {
      name: 'sliding-log',
      measures: {
        allowed: { value: 80, unit: 'count' },
        refusedRatio: { value: 0.5, unit: 'ratio' },
        worstWindow: { value: 40, unit: 'count' },
      },
      series: [
        {
          name: 'allowed',
          kind: 'allowed',
          unit: 'count',
          values: [0, 0, 4, 8, 8, 8, 8, 4, 0, 40, 0, 20, 20, 0, 0, 0, 0, 0, 0, 0],
        },
        {
          name: 'delayed',
          kind: 'delayed',
          unit: 'count',
          values: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 10, 0, 0, 0, 0, 0, 0, 0],
        },
        {
          name: 'refused',
          kind: 'refused',
          unit: 'count',
          values: [0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 59, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        },
      ],
      notes: [],
    },
  ],
  expectations: [
    { claim: 'sliding-log.worstWindow <= 40', isMet: true, measured: 'sliding-log.worstWindow = 40' },
    { claim: 'fixed-window.worstWindow <= 40', isMet: false, measured: 'fixed-window.worstWindow = 80' },
  ],
};

/** A breaker: states, and a queue, and nothing that is stacked. */
export const breakerResult: ScenarioResult = {
  name: 'A breaker <opens> & closes',
  about: 'The upstream fails for a while.',
  seed: 1,
  durationMs: 10_000,
  sliceMs: 1000,
  arrivals: 10,
  variants: [
    {
      name: 'circuit "breaker"',
      measures: { opened: { value: 1, unit: 'count' } },
      series: [
        {
          name: 'state',
          kind: 'state',
          unit: 'number',
          values: [0, 0, 1, 1, 1, 0.5, 0, 0, 0, 0],
        },
        { name: 'waiting', kind: 'queue', unit: 'count', values: [0, 1, 2, 4, 8, 8, 4, 2, 1, 0] },
      ],
      notes: ['A A B A C A A'],
    },
  ],
  expectations: [],
};
