import type { ScenarioResult, Series, SeriesKind } from '@sluice/simulator';
import { expect, test } from 'vitest';
import { circuitState, pictureOf } from './picture.ts';
import { someResult } from './some-results.test-support.ts';

const series = (name: string, kind: SeriesKind, ...values: number[]): Series => ({ name, kind, unit: 'count', values });

function stackOf(...all: Series[]): string[] {
  const result: ScenarioResult = { ...someResult, variants: [{ name: 'a', measures: {}, notes: [], series: all }] };
  const { stack } = pictureOf(result).panels[0]!;
  return stack.map(({ name, kind, values }) => `${name} (${kind}) ${values.join(' ')}`);
}

test('what was delayed is drawn once, on what passed at once', () => {
  const stack = stackOf(
    series('refused', 'refused', 1, 1),
    series('allowed', 'allowed', 5, 4),
    series('delayed', 'delayed', 2, 4),
  );
  expect(stack).toEqual(['allowed (allowed) 3 0', 'delayed (delayed) 2 4', 'refused (refused) 1 1']);
});

test('where calls are followed to their end, what was delayed on the way is among what ended', () => {
  const stack = stackOf(
    series('delayed', 'delayed', 2),
    series('refused', 'refused', 1),
    series('completed', 'allowed', 3),
    series('failed', 'refused', 4),
  );
  expect(stack).toEqual(['completed (allowed) 3', 'refused (refused) 1', 'failed (refused) 4']);
});

test('arrivals are drawn where nothing is known of what became of them', () => {
  expect(stackOf(series('arrived', 'arrived', 7))).toEqual(['arrived (arrived) 7']);
  expect(stackOf(series('arrived', 'arrived', 7), series('allowed', 'allowed', 7))).toEqual(['allowed (allowed) 7']);
});

test('the states of a circuit are its three names', () => {
  expect([0, 0.5, 1, 7].map((value) => circuitState(value).name)).toEqual(['closed', 'half-open', 'open', 'open']);
});
