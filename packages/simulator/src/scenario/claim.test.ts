import { describe, expect, test } from 'vitest';
import { parseClaim, type Results } from './claim.ts';

const results: Results = {
  sliceMs: 1000,
  variants: new Map([
    [
      'gcra',
      {
        measures: {
          allowed: { value: 120, unit: 'count' },
          'allowed.bob': { value: 20, unit: 'count' },
          failed: { value: 0, unit: 'count' },
          refusedRatio: { value: 0.25, unit: 'ratio' },
          waitMsMax: { value: 1500, unit: 'ms' },
          goodput: { value: 12.5, unit: 'rate' },
        },
        texts: new Map([['picks', 'A A B A']]),
        series: [{ name: 'share.B', kind: 'share', unit: 'ratio', values: [0, 0.2, 0.4, 0.6] }],
      },
    ],
    ['token-bucket', { measures: { allowed: { value: 100, unit: 'count' } }, texts: new Map(), series: [] }],
  ]),
};
const names = [...results.variants.keys()];
const evaluate = (claim: string) => parseClaim(claim, names).evaluate(results);

describe('a claim', () => {
  const rows: [claim: string, isMet: boolean, measured: string][] = [
    ['gcra.allowed == 120', true, 'gcra.allowed = 120'],
    ['gcra.allowed == 121', false, 'gcra.allowed = 120'],
    ['gcra.allowed != 120', false, 'gcra.allowed = 120'],
    ['gcra.allowed < 120', false, 'gcra.allowed = 120'],
    ['gcra.allowed <= 120', true, 'gcra.allowed = 120'],
    ['gcra.allowed > 119', true, 'gcra.allowed = 120'],
    ['gcra.allowed >= 121', false, 'gcra.allowed = 120'],
    ['gcra.allowed.bob == 20', true, 'gcra.allowed.bob = 20'],
    ['gcra.allowed > token-bucket.allowed', true, 'gcra.allowed = 120, token-bucket.allowed = 100'],
    ['gcra.allowed within 20 of token-bucket.allowed', true, 'gcra.allowed = 120, token-bucket.allowed = 100'],
    ['gcra.allowed within 19% of token-bucket.allowed', false, 'gcra.allowed = 120, token-bucket.allowed = 100'],
    ['gcra.allowed within 20% of token-bucket.allowed', true, 'gcra.allowed = 120, token-bucket.allowed = 100'],
    ['gcra.allowed == 2 * (10 + 20) + 120 / 2', true, 'gcra.allowed = 120'],
    ['gcra.allowed == 200 - 50 - 30', true, 'gcra.allowed = 120'],
    ['gcra.waitMsMax == 1.5s', true, 'gcra.waitMsMax = 1500 ms'],
    ['gcra.waitMsMax == 1500ms', true, 'gcra.waitMsMax = 1500 ms'],
    ['gcra.goodput == 12.5', true, 'gcra.goodput = 12.5/s'],
    ['gcra.refusedRatio + 0.05 == 0.1 + 0.2', true, 'gcra.refusedRatio = 0.25'], // equal but for the last digit
    ['gcra.share.B at 1s == 0.2', true, 'gcra.share.B at 1s = 0.2'],
    ['gcra.share.B at 1999ms == 0.2', true, 'gcra.share.B at 1999ms = 0.2'],
    ['gcra.share.B from 1s to 3s == 0.3', true, 'gcra.share.B from 1s to 3s = 0.3'], // the slice that begins at 3s is not part of it
    ['gcra.share.B from 1s to 3001ms == 0.4', true, 'gcra.share.B from 1s to 3001ms = 0.4'],
    ['gcra.picks == "A A B A"', true, 'gcra.picks = "A A B A"'],
    ['gcra.picks == "A A B"', false, 'gcra.picks = "A A B A"'],
    ['gcra.picks starts with "A A B"', true, 'gcra.picks = "A A B A"'],
    // What was not measured makes no claim true, neither one way nor the other.
    ['token-bucket.delayed == 0', false, 'token-bucket.delayed was not measured in token-bucket'],
    ['token-bucket.delayed != 0', false, 'token-bucket.delayed was not measured in token-bucket'],
    ['gcra.share.B at 9s == 0', false, 'gcra.share.B at 9s was not measured in gcra'],
    ['token-bucket.picks == ""', false, 'token-bucket.picks was not measured in token-bucket'],
    // Neither does what is no number.
    ['gcra.allowed / gcra.failed == 7', false, 'divides by 0: gcra.allowed = 120, gcra.failed = 0'],
    ['gcra.failed / gcra.failed != 7', false, 'divides by 0: gcra.failed = 0'],
    ['gcra.allowed / gcra.failed > 7', false, 'divides by 0: gcra.allowed = 120, gcra.failed = 0'],
    ['gcra.allowed within 5% of 1 / (gcra.failed - 0)', false, 'divides by 0: gcra.allowed = 120, gcra.failed = 0'],
    ['gcra.allowed within 1 / 0 of 3', false, 'divides by 0: gcra.allowed = 120'],
    ['7 / 0 != 7', false, 'divides by 0'],
    ['gcra.allowed < 1e308 * 10', false, 'not a number: gcra.allowed = 120'],
  ];

  test.each(rows)('%s: %s', (claim, isMet, measured) => {
    expect(evaluate(claim)).toEqual({ claim, isMet, measured });
  });

  test('needs no variant where there is only one', () => {
    const alone: Results = { sliceMs: 1, variants: new Map([['gcra', results.variants.get('gcra')!]]) };
    expect(parseClaim('allowed.bob == 20', ['gcra']).evaluate(alone).isMet).toBe(true);
    expect(parseClaim('gcra.allowed.bob == 20', ['gcra']).evaluate(alone).isMet).toBe(true);
  });
});

describe('a claim that cannot be read says why', () => {
  const rows: [claim: string, problem: string][] = [
    ['', 'ends where a number or a measure should stand.'],
    ['gcra.allowed', 'needs one of == != < <= > >= within, got its end.'],
    ['gcra.allowed = 3', 'cannot be read from "= 3" on.'],
    ['gcra.allowed == 3 4', 'goes on with "4", and should end there.'],
    ['gcra.allowed == (3', 'needs ")", got its end.'],
    ['gcra.allowed == *', 'has "*" where a number or a measure should stand.'],
    ['gcra.allowd == 3', 'names allowd, which is not measured.'],
    ['gcr.allowed == 3', 'names gcr.allowed, and no variant: begin with one of gcra, token-bucket'],
    ['gcra.refusedRatio == 25%', 'ratios are from 0 to 1, and percent stands only after within.'],
    ['gcra.allowed within 5%', 'needs "of", got its end.'],
    ['gcra.remaining == 3', 'names gcra.remaining, which is a series: say when, such as "gcra.remaining at 2s".'],
    ['gcra.share.B at noon == 3', 'needs a time such as 10s, got "noon".'],
    ['gcra.share.B from 8s to 2s == 3', 'has from 8s to 2s, and must end after it begins.'],
    ['gcra.share.B from 8s to 8000ms == 3', 'has from 8s to 8000ms, and must end after it begins.'],
    ['gcra.picks < "A"', 'compares a text'],
    ['gcra.picks == 3', 'compares gcra.picks, which is a text, with 3.'],
  ];

  test.each(rows)('%s', (claim, problem) => {
    expect(() => parseClaim(claim, names)).toThrow(problem);
  });
});
