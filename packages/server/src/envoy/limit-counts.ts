/**
 * How often each limit said what, for metrics. As many rows as the operator configured: values of requests make rows of their own only
 * where `detailed_metric` or `value_to_metric` asks for them, and then only so many; the rest are counted with the limit.
 */
import { type ConfiguredLimit, type EnvoyRules, placeOf } from './envoy-rules.ts';
import type { DescriptorEntry } from './rate-limit-message.ts';

/** Hits, in the words of `envoyproxy/ratelimit`. */
export interface HitCounts {
  totalHits: number;
  overLimit: number;
  /** Those beyond four fifths of the limit. */
  nearLimit: number;
  withinLimit: number;
  /** Those over a limit that is in shadow mode. */
  shadowMode: number;
  /** Those refused from memory, without asking the store. */
  overLimitWithLocalCache: number;
}

export interface LimitCounts extends Readonly<HitCounts> {
  readonly domain: string;
  /** The place of the limit, such as `source=proxy|destination`; `(override)` for limits that came with requests. */
  readonly descriptor: string;
}

/** Hits on a limit, as it stood. */
export interface Hits {
  readonly hits: number;
  readonly limit: number;
  /** What was used before these hits, and would be after them. */
  readonly before: number;
  readonly after: number;
  readonly isShadow: boolean;
  /** Whether they were refused from memory. */
  readonly isRemembered: boolean;
}

const overrideRow = '(override)';
// Rows of one limit that values of requests may make, and how long such a value may be.
const mostDetails = 100;
const longestDetail = 200;

// Hits that can never pass are counted up to so many, or up to their limit. One request may ask for 2^64, and a sum as large would
// not change any more when 1 is added.
const mostHopeless = 1_000_000;

export function noHits(): HitCounts {
  return { totalHits: 0, overLimit: 0, nearLimit: 0, withinLimit: 0, shadowMode: 0, overLimitWithLocalCache: 0 };
}

/** Adds hits. Several at once may lie on both sides of a threshold, and are then divided. */
export function addHits(counts: HitCounts, { hits, limit, before, after, isShadow, isRemembered }: Hits): void {
  const near = Math.floor((limit * 4) / 5);
  const most = Math.max(limit, mostHopeless);
  counts.totalHits += Math.min(hits, most);
  if (isRemembered) counts.overLimitWithLocalCache += Math.min(hits, most);
  if (!isRemembered && after <= limit) {
    counts.withinLimit += hits;
    if (after > near) counts.nearLimit += before >= near ? hits : after - near;
    return;
  }
  const over = Math.min(isRemembered || before >= limit ? hits : after - limit, most);
  counts.overLimit += over;
  if (isShadow) counts.shadowMode += over;
  if (!isRemembered && before < limit) counts.nearLimit += limit - Math.max(near, before);
}

export interface CountBook {
  /** The counts of a limit, asked with these entries. */
  of(limit: ConfiguredLimit, entries: readonly DescriptorEntry[]): HitCounts;
  /** The counts of limits that come with requests of a domain. */
  ofOverrides(domain: string): HitCounts;
  rows(): Iterable<LimitCounts>;
}

interface Page {
  readonly own: HitCounts;
  readonly details: Map<string, HitCounts>;
}

/** Counts survive a reload for as long as their limit does. */
export function countBook(rules: () => EnvoyRules): CountBook {
  let pages = new Map<string, Page>();
  let overrides = new Map<string, HitCounts>();
  let current: EnvoyRules | undefined;

  function turnTo(next: EnvoyRules): void {
    if (current === next) return;
    current = next;
    const limited = next.limits.filter(({ rate }) => rate !== undefined);
    pages = new Map(limited.map(({ name }) => [name, pages.get(name) ?? { own: noHits(), details: new Map() }]));
    overrides = new Map([...overrides].filter(([domain]) => next.domains.has(domain)));
  }

  return {
    of(limit, entries) {
      turnTo(rules());
      const page = pages.get(limit.name);
      // The rules changed while the store was asked, and the limit is gone: nobody asks for its counts any more.
      if (page === undefined) return noHits();
      if (limit.detail === undefined) return page.own;
      const detail = placeOf(limit.detail.map(({ key, value }, i) => ({ key, value: value ?? entries[i]?.value })));
      const known = detail === limit.descriptor ? page.own : page.details.get(detail);
      if (known) return known;
      if (page.details.size >= mostDetails || detail.length > longestDetail) return page.own;
      const counts = noHits();
      page.details.set(detail, counts);
      return counts;
    },
    ofOverrides(domain) {
      turnTo(rules());
      const counts = overrides.get(domain) ?? noHits();
      if (current?.domains.has(domain)) overrides.set(domain, counts);
      return counts;
    },
    *rows() {
      turnTo(rules());
      for (const { domain, descriptor, name, rate } of current?.limits ?? []) {
        const page = pages.get(name);
        if (rate === undefined || page === undefined) continue;
        yield { domain, descriptor, ...page.own };
        for (const [detail, counts] of page.details) yield { domain, descriptor: detail, ...counts };
      }
      for (const [domain, counts] of overrides) yield { domain, descriptor: overrideRow, ...counts };
    },
  };
}
