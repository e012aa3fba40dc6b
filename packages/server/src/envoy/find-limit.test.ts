import { describe, expect, it } from 'vitest';
import { bench, entries, upstreamRules } from './envoy.test-support.ts';
import { findLimit } from './find-limit.ts';
import { loadEnvoyFiles } from './load-envoy-files.ts';
import type { Unit } from './rate-limit-message.ts';

// Look-ups that envoyproxy/ratelimit tests, over its own files.
type Row = [name: string, files: string, domain: string, descriptor: string, override: string, expected: string];
const lookups: Row[] = [
  // basic_config.yaml
  ['unknown domain', 'basic_config.yaml', 'foo_domain', '', '', 'none'],
  ['empty descriptor', 'basic_config.yaml', 'test-domain', '', '', 'none'],
  ['value not listed, no default', 'basic_config.yaml', 'test-domain', 'key1=something', '', 'none'],
  ['node without limit', 'basic_config.yaml', 'test-domain', 'key1=value1', '', 'none'],
  ['deeper than config', 'basic_config.yaml', 'test-domain', 'key2=value2 subkey=subvalue', '', 'none'],
  [
    'second level value mismatch, no default',
    'basic_config.yaml',
    'test-domain',
    'key5=value5 subkey5=subvalue',
    '',
    'none',
  ],
  ['second level default', 'basic_config.yaml', 'test-domain', 'key1=value1 subkey1=something', '', '5/second'],
  ['second level specific', 'basic_config.yaml', 'test-domain', 'key1=value1 subkey1=subvalue1', '', '10/second'],
  ['key default', 'basic_config.yaml', 'test-domain', 'key2=something', '', '20/minute'],
  ['key+value specific', 'basic_config.yaml', 'test-domain', 'key2=value2', '', '30/minute'],
  ['whitelisted value (no rate_limit)', 'basic_config.yaml', 'test-domain', 'key2=value3', '', 'none'],
  ['hour unit', 'basic_config.yaml', 'test-domain', 'key3=foo', '', '1/hour'],
  ['named limit', 'basic_config.yaml', 'test-domain', 'key4=foo', '', '1/day key4_rate_limit'],
  ['unlimited', 'basic_config.yaml', 'test-domain', 'key6=foo', '', 'unlimited'],
  [
    'detailed metric does not change the limit',
    'basic_config.yaml',
    'test-domain',
    'key7=unspecified_value',
    '',
    '70/minute',
  ],
  ['detailed metric other value', 'basic_config.yaml', 'test-domain', 'key7=another_value', '', '70/minute'],
  ['override: unknown domain still null', 'basic_config.yaml', 'foo_domain', '', '10/day', 'none'],
  [
    'override wins over config',
    'basic_config.yaml',
    'test-domain',
    'key1=value1 subkey1=something',
    '10/day',
    '10/day',
  ],
  ['override changed', 'basic_config.yaml', 'test-domain', 'key1=value1 subkey1=something', '42/hour', '42/hour'],
  // merge_domain_key1.yaml merge_domain_key2.yaml
  [
    'merged domain, from file 1',
    'merge_domain_key1.yaml merge_domain_key2.yaml',
    'test-domain',
    'key1=value1',
    '',
    '10/minute',
  ],
  [
    'merged domain, from file 2',
    'merge_domain_key1.yaml merge_domain_key2.yaml',
    'test-domain',
    'key2=value2',
    '',
    '20/minute',
  ],
  // wildcard.yaml
  ['wildcard: no value 1', 'wildcard.yaml', 'test-domain', 'noVal=foo1', '', '20/minute'],
  ['wildcard: no value 2', 'wildcard.yaml', 'test-domain', 'noVal=foo2', '', '20/minute'],
  ['wildcard: trailing * match', 'wildcard.yaml', 'test-domain', 'wild=foo1', '', '20/minute'],
  ['wildcard: trailing * match 2', 'wildcard.yaml', 'test-domain', 'wild=foo2', '', '20/minute'],
  ['wildcard: nested *', 'wildcard.yaml', 'test-domain', 'nestedWild=val1 wild=goo2', '', '20/minute'],
  ['wildcard: trailing * no match', 'wildcard.yaml', 'test-domain', 'wild=bar', '', 'none'],
  ['wildcard: plain value is not a prefix', 'wildcard.yaml', 'test-domain', 'noWild=foo1', '', 'none'],
  ['wildcard: middle *', 'wildcard.yaml', 'test-domain', 'midWild=barab', '', '20/minute'],
  ['wildcard: middle * long', 'wildcard.yaml', 'test-domain', 'midWild=bar123b', '', '20/minute'],
  ['wildcard: middle * empty', 'wildcard.yaml', 'test-domain', 'midWild=barb', '', '20/minute'],
  ['wildcard: middle * wrong suffix', 'wildcard.yaml', 'test-domain', 'midWild=bara', '', 'none'],
  ['wildcard: middle * wrong prefix', 'wildcard.yaml', 'test-domain', 'midWild=xbarb', '', 'none'],
  ['wildcard: multi *', 'wildcard.yaml', 'test-domain', 'multiWild=foo123bar456baz', '', '10/minute'],
  ['wildcard: multi * empty middles', 'wildcard.yaml', 'test-domain', 'multiWild=foobarbaz', '', '10/minute'],
  ['wildcard: multi * missing middle', 'wildcard.yaml', 'test-domain', 'multiWild=foo123baz', '', 'none'],
  ['wildcard: multi * missing prefix', 'wildcard.yaml', 'test-domain', 'multiWild=bar456baz', '', 'none'],
  // shadowmode_config.yaml
  [
    'shadow: key1=value1 subkey1=something',
    'shadowmode_config.yaml',
    'test-domain',
    'key1=value1 subkey1=something',
    '',
    '5/second',
  ],
  [
    'shadow: key1=value1 subkey1=subvalue1',
    'shadowmode_config.yaml',
    'test-domain',
    'key1=value1 subkey1=subvalue1',
    '',
    '10/second shadow',
  ],
  ['shadow: key2=something', 'shadowmode_config.yaml', 'test-domain', 'key2=something', '', '20/minute shadow'],
  ['shadow: key2=value2', 'shadowmode_config.yaml', 'test-domain', 'key2=value2', '', '30/minute'],
];

/** What applies, in the words of the rows. */
function lookUp(files: string, domain: string, descriptor: string): string {
  const level = upstreamRules(files).domains.get(domain);
  const limit = level && findLimit(level, entries(descriptor))?.limit;
  if (limit === undefined) return 'none';
  if (limit.rate === undefined) return 'unlimited';
  const { requestsPerUnit, unit, name } = limit.rate.current;
  return [`${requestsPerUnit}/${unit.toLowerCase()}`, name, limit.isShadow && 'shadow'].filter(Boolean).join(' ');
}

describe('the limit of a descriptor', () => {
  it.each(lookups.filter((row) => row[4] === ''))('%s (%s: %s, %s)', (_, files, domain, descriptor, __, expected) => {
    expect(lookUp(files, domain, descriptor)).toBe(expected);
  });

  it('41 look-ups, of which three come with a limit of their own', () => {
    expect(lookups).toHaveLength(41);
    expect(lookups.filter((row) => row[4] !== '')).toHaveLength(3);
  });
});

describe('the limit that is answered', () => {
  // A request must have entries; a descriptor without any is tested above and refused at the door.
  const asked = lookups.filter((row) => row[3] !== '');
  it.each(asked)('%s (%s: %s, %s, override "%s")', (_, files, domain, descriptor, override, expected) => {
    const [requestsPerUnit, unit = ''] = override.split('/');
    const limit =
      override === '' ? undefined : { requestsPerUnit: Number(requestsPerUnit), unit: unit.toUpperCase() as Unit };
    const { overallCode, statuses } = bench(upstreamRules(files)).ask(domain, [{ of: descriptor, limit }]);
    expect(overallCode).toBe('OK');
    const [status] = statuses;
    const [rate, name = ''] = expected.replace(' shadow', '').split(' ');
    if (expected === 'none') expect(status).toEqual({ code: 'OK', limitRemaining: 0 });
    else if (expected === 'unlimited') expect(status).toEqual({ code: 'OK', limitRemaining: 4_294_967_295 });
    else {
      const { requestsPerUnit: count, unit: every, name: called } = status!.currentLimit!;
      expect([`${count}/${every.toLowerCase()}`, called]).toEqual([rate, name]);
      expect(status!.limitRemaining).toBe(count - 1);
    }
  });

  it('ignores a limit that comes with a request of an unknown domain', () => {
    const limit = { requestsPerUnit: 0, unit: 'DAY' } as const;
    const limiter = bench(upstreamRules('basic_config.yaml'));
    expect(limiter.short('foo_domain', [{ of: 'key1=value1', limit }])).toBe('OK, OK -');
  });
});

describe('whose count it is', () => {
  const shared = `domain: domain
descriptors:
  - { key: key, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: files, value: files/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 1 } }
  - key: parent
    descriptors:
      - { key: files, value: nested/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: open, value: files/*, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: fixed, value: one, rate_limit: { unit: second, requests_per_unit: 1 } }
  - key: a
    descriptors:
      - { key: b, rate_limit: { unit: second, requests_per_unit: 1 } }
`;
  const level = loadEnvoyFiles([{ path: 'a.yaml', text: shared }], { mergeDomains: false }).domains.get('domain')!;

  // What envoyproxy/ratelimit calls it in its cache, before the start of the window; empty where it has no test.
  const rows: [descriptor: string, theirs: string, name: string, key: string][] = [
    ['key=value', 'domain_key_value', 'envoy/domain|key', 'value'],
    ['files=files/a.pdf', 'domain_files_files/*', 'envoy/domain|files=files/*', 'all'],
    [
      'parent=value1 files=nested/file1.txt',
      'domain_parent_value1_files_nested/*',
      'envoy/domain|parent|files=nested/*',
      'value1',
    ],
    ['open=files/a.pdf', '', 'envoy/domain|open=files/*', 'files/a.pdf'],
    ['fixed=one', '', 'envoy/domain|fixed=one', 'all'],
    ['a=x b=y', '', 'envoy/domain|a|b', 'x|y'],
    ['a=x|y b=z', '', 'envoy/domain|a|b', 'x%7Cy|z'],
    ['a=x b=y|z', '', 'envoy/domain|a|b', 'x|y%7Cz'],
    ['a=%7C b=', '', 'envoy/domain|a|b', '%257C|'],
  ];
  it.each(rows)('%s (%s there) is of %s, key %s', (descriptor, _, name, key) => {
    const found = findLimit(level, entries(descriptor));
    expect([found?.limit.name, found?.key]).toEqual([name, key]);
  });
});

describe('the order of a level', () => {
  const text = `domain: d
descriptors:
  - { key: k, value: "a*", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: k, value: "ab*", rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: k, rate_limit: { unit: day, requests_per_unit: 3 } }
  - { key: k, value: abc, rate_limit: { unit: day, requests_per_unit: 4 } }
  - { key: k, value: "*z*", rate_limit: { unit: day, requests_per_unit: 5 } }
  - { key: "w*", rate_limit: { unit: day, requests_per_unit: 6 } }
`;
  const level = loadEnvoyFiles([{ path: 'a.yaml', text }], { mergeDomains: false }).domains.get('d')!;
  const rows: [descriptor: string, expected: number | undefined, why: string][] = [
    ['k=abc', 4, 'the exact value, wherever it stands'],
    ['k=abd', 1, 'the first pattern that matches, not the closest'],
    ['k=ab*', 1, 'the text of a pattern is a value like any other'],
    ['k=xyz', 5, 'a star may stand for nothing'],
    ['k=b', 3, 'any value, last'],
    ['k=', 3, 'also an empty one'],
    ['w*=x', 6, 'a star in a key is a star'],
    ['wx=x', undefined, 'and nothing else'],
    ['constructor=x', undefined, 'what every object has is no key'],
    ['__proto__=x', undefined, 'nor this'],
  ];
  it.each(rows)('%s: %s (%s)', (descriptor, expected) => {
    expect(findLimit(level, entries(descriptor))?.limit.rate?.requestsPerUnit).toBe(expected);
  });
});
