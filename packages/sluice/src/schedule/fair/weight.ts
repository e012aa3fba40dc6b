/**
 * What a nice level is worth: a quarter more with each level down, as in Linux, so that one level moves a tenth of the time between two
 * tenants wherever they stand. Linux rounds to whole numbers in a table; this is the formula that the table was made by.
 */
import { wholeNumber, within } from '../../protect/option-checks.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields } from '../../vocabulary/policy.ts';

/** How much of the time a tenant gets beside the others: by a nice level, or by a weight. */
export type TenantShare =
  | {
      /** -20 (most) to 19 (least). Default 0, which is a weight of 1024. */
      readonly nice?: number | undefined;
      readonly weight?: undefined;
    }
  | {
      /** From 0.01 to 1,000,000, in place of a nice level. */
      readonly weight: number;
      readonly nice?: undefined;
    };

/** The weight of nice 0: one millisecond of it is one millisecond of virtual time. */
export const niceZeroWeight = 1024;

const perLevel = 1.25;
const leastWeight = 0.01;
const mostWeight = 1e6;

export function weightOf(share: TenantShare): number {
  knownFields('the share of a tenant', share, 'nice weight');
  const { nice, weight } = share;
  if (weight === undefined) return niceZeroWeight / perLevel ** wholeNumber('nice', nice ?? 0, -20, 19);
  if (nice !== undefined) throw invalid('nice', 'left out where there is a weight', nice);
  const isWeight = weight >= leastWeight && weight <= mostWeight;
  return within('weight', weight, isWeight, `a number from ${leastWeight} to ${mostWeight}`);
}
