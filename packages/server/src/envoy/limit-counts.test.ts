import { describe, expect, it } from 'vitest';
import { bench, request, upstreamRules } from './envoy.test-support.ts';
import { addHits, type HitCounts, noHits } from './limit-counts.ts';
import { loadEnvoyFiles } from './load-envoy-files.ts';
import { envoyLimiter } from './should-rate-limit.ts';

const plain = { isShadow: false, isRemembered: false };

describe('hits', () => {
  // Facts of envoyproxy/ratelimit's own tests; near is four fifths of the limit.
  type Row = [name: string, hits: Parameters<typeof addHits>[1], expected: Partial<HitCounts>];
  const rows: Row[] = [
    [
      'over the limit',
      { ...plain, limit: 5, before: 2, after: 7, hits: 1 },
      { totalHits: 1, overLimit: 2, nearLimit: 1 },
    ],
    [
      'over the limit in shadow mode',
      { ...plain, limit: 5, before: 2, after: 7, hits: 1, isShadow: true },
      { totalHits: 1, overLimit: 2, nearLimit: 1, shadowMode: 2 },
    ],
    [
      'below the limit',
      { ...plain, limit: 10, before: 2, after: 6, hits: 1 },
      { totalHits: 1, withinLimit: 1, nearLimit: 0 },
    ],
    [
      'over the limit from memory',
      { ...plain, limit: 5, before: 2, after: 6, hits: 2, isRemembered: true },
      { totalHits: 2, overLimit: 2, overLimitWithLocalCache: 2 },
    ],
    // And our own, at the edges.
    ['all of them over', { ...plain, limit: 5, before: 5, after: 8, hits: 3 }, { totalHits: 3, overLimit: 3 }],
    ['up to the threshold', { ...plain, limit: 5, before: 0, after: 4, hits: 4 }, { totalHits: 4, withinLimit: 4 }],
    [
      'on both sides of the threshold',
      { ...plain, limit: 5, before: 2, after: 5, hits: 3 },
      { totalHits: 3, withinLimit: 3, nearLimit: 1 },
    ],
    // More than a double could count on from.
    [
      'more than anybody means',
      { ...plain, limit: 5, before: 2, after: 2 ** 64, hits: 2 ** 64 },
      { totalHits: 1_000_000, overLimit: 1_000_000, nearLimit: 1 },
    ],
    [
      'more than a large limit, in shadow mode, from memory',
      { limit: 5_000_000, before: 0, after: 2 ** 64, hits: 2 ** 64, isShadow: true, isRemembered: true },
      { totalHits: 5_000_000, overLimit: 5_000_000, shadowMode: 5_000_000, overLimitWithLocalCache: 5_000_000 },
    ],
    [
      'up to a large limit',
      { ...plain, limit: 5_000_000, before: 0, after: 5_000_000, hits: 5_000_000 },
      { totalHits: 5_000_000, withinLimit: 5_000_000, nearLimit: 1_000_000 },
    ],
    ['a limit of nothing', { ...plain, limit: 0, before: 0, after: 2, hits: 2 }, { totalHits: 2, overLimit: 2 }],
  ];
  it.each(rows)('%s', (_, hits, expected) => {
    const counts = noHits();
    addHits(counts, hits);
    expect(counts).toEqual({ ...noHits(), ...expected });
  });
});

describe('the counts of a limiter', () => {
  /** Rows that have counted something, without their zeros. */
  function counted(limiter: Pick<ReturnType<typeof bench>, 'counts'>): object[] {
    return [...limiter.counts()]
      .filter(({ totalHits }) => totalHits > 0)
      .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== 0)));
  }

  it('has a row for every limit from the start, and none for what is unlimited', () => {
    const rows = [...bench(upstreamRules('basic_config.yaml')).counts()];
    expect(rows.map(({ domain, descriptor }) => `${domain} ${descriptor}`)).toEqual([
      'test-domain key1=value1|subkey1',
      'test-domain key1=value1|subkey1=subvalue1',
      'test-domain key2',
      'test-domain key2=value2',
      'test-domain key3',
      'test-domain key4',
      'test-domain key5=value5',
      'test-domain key5=value5|subkey5=subvalue5',
      'test-domain key7',
    ]);
  });

  it('divides hits as the limit stands', () => {
    const limiter = bench(upstreamRules('basic_config.yaml'));
    for (let i = 0; i < 3; i += 1) limiter.ask('test-domain', ['key1=value1 subkey1=x'], 2);
    // 2, 4, and then 2 of which 1 would have been over: of five, the fifth is near.
    expect(counted(limiter)).toEqual([
      {
        domain: 'test-domain',
        descriptor: 'key1=value1|subkey1',
        totalHits: 6,
        withinLimit: 4,
        nearLimit: 1,
        overLimit: 1,
      },
    ]);
  });

  it('counts what the same request asks for twice as over, though one of the two would have passed', () => {
    const limiter = bench(upstreamRules('basic_config.yaml'));
    limiter.ask('test-domain', ['key3=a', 'key3=a']); // one per hour
    expect(counted(limiter)).toMatchObject([{ descriptor: 'key3', totalHits: 2, withinLimit: 1, overLimit: 1 }]);
  });

  it('counts shadow mode beside over the limit', () => {
    const limiter = bench(upstreamRules('shadowmode_config.yaml'));
    for (let i = 0; i < 21; i += 1) limiter.ask('test-domain', ['key2=x']);
    expect(counted(limiter)).toEqual([
      {
        domain: 'test-domain',
        descriptor: 'key2',
        totalHits: 21,
        withinLimit: 20,
        nearLimit: 4,
        overLimit: 1,
        shadowMode: 1,
      },
    ]);
  });

  it('counts neither questions nor refunds', () => {
    const limiter = bench(upstreamRules('basic_config.yaml'));
    limiter.ask('test-domain', [{ of: 'key2=a', hitsAddend: 0 }]);
    limiter.ask('test-domain', [{ of: 'key2=a', isNegativeHits: true }]);
    expect(counted(limiter)).toEqual([]);
  });

  it('shows no value of a request, unless detailed_metric asks for it, and then only so many', () => {
    const limiter = bench(upstreamRules('basic_config.yaml'));
    for (let i = 0; i < 1000; i += 1) limiter.ask('test-domain', [`key2=${i}`, `key7=${i}`]);
    limiter.ask('test-domain', [`key7=${'x'.repeat(500)}`]);
    const rows = counted(limiter) as { descriptor: string; totalHits: number }[];
    expect(rows.filter(({ descriptor }) => descriptor.startsWith('key2'))).toMatchObject([
      { descriptor: 'key2', totalHits: 1000 },
    ]);
    const detailed = rows.filter(({ descriptor }) => descriptor.startsWith('key7'));
    expect(detailed).toHaveLength(101);
    expect(detailed[0]).toMatchObject({ descriptor: 'key7', totalHits: 901 });
    expect(detailed[1]).toMatchObject({ descriptor: 'key7=0', totalHits: 1 });
  });

  it('shows the values of the levels that value_to_metric marks, and patterns that are shared as they are', () => {
    const limiter = bench(`domain: d
descriptors:
  - key: route
    value_to_metric: true
    descriptors:
      - { key: user, rate_limit: { unit: day, requests_per_unit: 9 } }
  - { key: files, value: a*, share_threshold: true, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 9 } }
`);
    limiter.ask('d', ['route=/x user=alice', 'route=/y user=bob', 'files=abc']);
    expect(counted(limiter).map((row) => (row as { descriptor: string }).descriptor)).toEqual([
      'route=/x|user',
      'route=/y|user',
      'files=a*',
    ]);
  });

  it('has one row for all limits that come with requests of a domain', () => {
    const limiter = bench(upstreamRules('basic_config.yaml'));
    for (let i = 1; i <= 500; i += 1) {
      limiter.ask('test-domain', [{ of: `user=${i}`, limit: { requestsPerUnit: i, unit: 'DAY' } }]);
    }
    expect(counted(limiter)).toMatchObject([{ domain: 'test-domain', descriptor: '(override)', totalHits: 500 }]);
  });

  it('survives a reload for as long as the limit is there', () => {
    const file = (limits: string) =>
      loadEnvoyFiles([{ path: 'a.yaml', text: `domain: d\ndescriptors: [${limits}]\n` }], { mergeDomains: false });
    const a = '{ key: a, rate_limit: { unit: day, requests_per_unit: 9 } }';
    let rules = file(`${a}, { key: b, rate_limit: { unit: day, requests_per_unit: 9 } }`);
    const { store } = bench(rules);
    const limiter = envoyLimiter({ rules: () => rules, store, responseHeaders: () => false });
    limiter.shouldRateLimit(request('d', ['a=1', 'b=1']));
    rules = file(`${a.replace('9', '5')}, { key: c, rate_limit: { unit: day, requests_per_unit: 9 } }`);
    limiter.shouldRateLimit(request('d', ['a=1']));
    expect([...limiter.counts()].map(({ descriptor, totalHits }) => [descriptor, totalHits])).toEqual([
      ['a', 2],
      ['c', 0],
    ]);
  });
});
