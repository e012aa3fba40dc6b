import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { writeStruct } from '../grpc/struct-codec.ts';
import { WireWriter } from '../grpc/wire-writer.ts';
import { describeRules } from './describe-rules.ts';
import { upstreamFile, upstreamRules } from './envoy.test-support.ts';
import { EnvoyFilesError, type FileProblem } from './file-problem.ts';
import { loadEnvoyFiles } from './load-envoy-files.ts';

/** What is wrong with files, by name or as text. */
function problemsOf(names: readonly string[], mergeDomains = false): readonly FileProblem[] {
  return problemsIn(names.map(upstreamFile), mergeDomains);
}

function problemsIn(files: readonly { path: string; text: string }[], mergeDomains = false): readonly FileProblem[] {
  try {
    loadEnvoyFiles(files, { mergeDomains });
  } catch (error) {
    if (error instanceof EnvoyFilesError) return error.problems;
    throw error;
  }
  return [];
}

const load = (text: string) => loadEnvoyFiles([{ path: 'a.yaml', text }], { mergeDomains: false });
const wrong = (text: string) => problemsIn([{ path: 'a.yaml', text }]);

/** A file with one limit, with so much more in its `rate_limit`. */
const limitWith = (more: string) => `domain: d
descriptors:
  - key: k
    rate_limit:
      unit: minute
      requests_per_unit: 100
${more
  .split('\n')
  .map((line) => `      ${line}`)
  .join('\n')}
`;

describe('what envoyproxy/ratelimit rejects', () => {
  type Row = [files: string[], message: string, line: number, column: number, mergeDomains?: boolean];
  const rows: Row[] = [
    [['empty_domain.yaml'], 'config file cannot have empty domain', 1, 1],
    [['empty_key.yaml'], 'descriptor has empty key', 3, 5],
    [['duplicate_key.yaml'], "duplicate descriptor composite key 'test-domain.key1_value1'", 6, 10],
    [['bad_limit_unit.yaml'], "invalid rate limit unit 'foo'", 6, 13],
    [['replaces_self.yaml'], 'replaces should not contain name of same descriptor', 10, 15],
    [['replaces_empty.yaml'], 'should not have an empty replaces entry', 10, 15],
    [['bad_yaml.yaml'], 'error loading config file: yaml: line 2: found unexpected end of stream', 2, 1],
    [['misspelled_key.yaml'], "config error, unknown key 'ratelimit'", 5, 5],
    [['misspelled_key2.yaml'], "config error, unknown key 'requestsperunit'", 7, 7],
    [['non_string_key.yaml'], 'config error, key is not of type string: 0.25', 1, 1],
    [['non_map_list.yaml'], 'config error, yaml file contains list of type other than map: a', 3, 5],
    [['unlimited_with_unit.yaml'], 'should not specify rate limit unit when unlimited', 6, 13],
    [['basic_config.yaml', 'duplicate_domain.yaml'], "duplicate domain 'test-domain' in config file", 1, 9],
    [
      ['merge_domain_key1.yaml', 'merge_domain_key1.yaml'],
      "duplicate descriptor composite key 'test-domain.key1_value1'",
      5,
      10,
      true,
    ],
  ];

  it.each(rows)('%j is rejected with "%s"', (files, message, line, column, mergeDomains = false) => {
    const file = files.at(-1)!;
    expect(problemsOf(files, mergeDomains)).toEqual([{ file, line, column, message }]);
  });

  it('share_threshold is for values with a star', () => {
    expect(wrong('domain: d\ndescriptors:\n  - key: k\n    value: v\n    share_threshold: true\n')).toEqual([
      {
        file: 'a.yaml',
        line: 5,
        column: 22,
        message: "share_threshold can only be used with wildcard values (containing '*'), but found key 'k_v'",
      },
    ]);
  });

  it('all problems of all files are told at once, each with its place', () => {
    const files = ['bad_limit_unit.yaml', 'empty_domain.yaml', 'misspelled_key.yaml'].map(upstreamFile);
    expect(() => loadEnvoyFiles(files, { mergeDomains: true })).toThrow(
      [
        "bad_limit_unit.yaml:6:13: invalid rate limit unit 'foo'",
        'empty_domain.yaml:1:1: config file cannot have empty domain',
        "misspelled_key.yaml:5:5: config error, unknown key 'ratelimit'",
      ].join('\n'),
    );
  });
});

describe('what envoyproxy/ratelimit loads', () => {
  it.each([
    ['example.yaml', 17],
    ['basic_config.yaml', 10],
    ['shadowmode_config.yaml', 4],
    ['wildcard.yaml', 6],
    ['another.yaml', 6],
    ['basic.yaml', 3],
    ['share_threshold.yaml', 2],
    ['merge_domain_key1.yaml merge_domain_key2.yaml', 2],
    ['another.yaml basic.yaml share_threshold.yaml', 11],
    ['duplicate_domain.yaml', 0],
  ])('%s, whole, without a warning: %d limits', (names, count) => {
    const { limits, warnings } = upstreamRules(names);
    expect(limits).toHaveLength(count);
    expect(warnings).toEqual([]);
  });

  it('every file that was brought over is in a row of these tests', () => {
    const folder = new URL('upstream-files/test/config', import.meta.url);
    expect(readdirSync(folder)).toHaveLength(18);
  });

  it('the files in the guide, and its messages are ours', () => {
    const guide = readFileSync(new URL('../../../../docs/guides/envoy.md', import.meta.url), 'utf8');
    const files = [...guide.matchAll(/```yaml\n(domain: [^`]*)```/g)].map(([, text = '']) => text);
    expect(files).toHaveLength(2);
    for (const text of files) expect(load(text).warnings).toEqual([]);
    const messages = [...guide.matchAll(/^limits\/edge\.yaml:\d+:\d+: (.*)$/gm)].map(([, message]) => message);
    const broken = limitWith('').replace('minute', 'fortnight').replace('rate_limit', 'ratelimit');
    const said = [limitWith('').replace('minute', 'fortnight'), broken].flatMap((text) => wrong(text));
    expect(messages).toEqual(said.map(({ message }) => message));
  });

  it('is described as /rlconfig does', () => {
    expect(describeRules(upstreamRules('shadowmode_config.yaml'))).toBe(
      [
        'test-domain.key1_value1.subkey1: unit=SECOND requests_per_unit=5, shadow_mode: false, quota_mode: false',
        'test-domain.key1_value1.subkey1_subvalue1: unit=SECOND requests_per_unit=10, shadow_mode: true, quota_mode: false',
        'test-domain.key2: unit=MINUTE requests_per_unit=20, shadow_mode: true, quota_mode: false',
        'test-domain.key2_value2: unit=MINUTE requests_per_unit=30, shadow_mode: false, quota_mode: false',
        '',
      ].join('\n'),
    );
    expect(describeRules(load('domain: d\ndescriptors: [{ key: k, rate_limit: { unlimited: true } }]\n'))).toBe(
      'd.k: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false\n',
    );
  });

  it.each(['second', 'Minute', 'HOUR', 'day', 'wEEk', 'month', 'year'])('the unit %s', (unit) => {
    const [limit] = load(limitWith('').replace('unit: minute', `unit: ${unit}`)).limits;
    expect(limit?.rate?.unit).toBe(unit.toUpperCase());
  });

  it('text is what is written, and not what YAML makes of it', () => {
    const rules = load('domain: 0123\ndescriptors: [{ key: yes, value: 1_000 }, { key: k, value: 2001-01-01 }]\n');
    expect([...rules.domains.keys()]).toEqual(['0123']);
    expect(rules.domains.get('0123')?.get('yes')?.exact.has('1_000')).toBe(true);
    expect(rules.domains.get('0123')?.get('k')?.exact.has('2001-01-01')).toBe(true);
  });

  it('booleans are those of YAML 1.1', () => {
    const [limit] = load(`${limitWith('')}    shadow_mode: yes\n    quota_mode: on\n`).limits;
    expect([limit?.isShadow, limit?.isQuota]).toEqual([true, true]);
  });

  it('anchors, aliases and merges', () => {
    const { limits } = load(`domain: d
descriptors:
  - key: a
    rate_limit: &five { unit: second, requests_per_unit: 5 }
  - key: b
    rate_limit: *five
  - key: c
    rate_limit:
      <<: *five
      requests_per_unit: 6
`);
    expect(limits.map(({ rate }) => [rate?.requestsPerUnit, rate?.unit])).toEqual([
      [5, 'SECOND'],
      [5, 'SECOND'],
      [6, 'SECOND'],
    ]);
  });

  it('metadata of any shape', () => {
    const metadata = '{ a: { b: [1, two, yes, null] }, since: 2001-01-01, yes: no, __proto__: { x: 1 } }';
    const file = `domain: d\ndescriptors:\n  - { key: k, metadata: ${metadata}, rate_limit: { unit: day } }\n`;
    const [limit] = load(file).limits;
    expect(JSON.stringify(limit?.metadata)).toBe(
      '{"a":{"b":[1,"two",true,null]},"since":"2001-01-01","yes":false,"__proto__":{"x":1}}',
    );
    expect(limit?.rate?.requestsPerUnit).toBe(0);
  });

  it('two descriptors whose texts would be the same if they were glued together', () => {
    const { limits } = load(
      'domain: d\ndescriptors:\n' +
        '  - { key: a, value: b_c, rate_limit: { unit: day, requests_per_unit: 1 } }\n' +
        '  - { key: a_b, value: c, rate_limit: { unit: day, requests_per_unit: 1 } }\n' +
        '  - { key: "a=b|c", rate_limit: { unit: day, requests_per_unit: 1 } }\n' +
        '  - { key: a, value: "b|c", rate_limit: { unit: day, requests_per_unit: 1 } }\n',
    );
    expect(limits.map(({ descriptor }) => descriptor)).toEqual(['a=b_c', 'a_b=c', 'a%3Db%7Cc', 'a=b%7Cc']);
  });
});

describe('what loads there, and is most likely not what was meant, is a warning', () => {
  const rows: [text: string, line: number, message: string][] = [
    [limitWith('shadow_mode: true'), 7, "'shadow_mode' has no effect in rate_limit"],
    ['domain: d\nunit: day\n', 2, "'unit' has no effect in the file"],
    ['domain: d\ndomain: e\n', 2, "'domain' is given twice; the last one counts"],
    ['domain: d\n---\ndomain: e\n', 2, 'only the first document of a file is read'],
    [
      'domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unlimited: true, unit: foo }\n',
      4,
      "'unit' has no effect when unlimited",
    ],
  ];
  it.each(rows)('%j', (text, line, message) => {
    expect(load(text).warnings).toMatchObject([{ file: 'a.yaml', line, message }]);
  });
});

describe('what is no configuration', () => {
  const rows: [text: string, line: number, column: number, message: string][] = [
    ['', 1, 1, 'config file cannot have empty domain'],
    ['- a\n', 1, 1, 'error loading config file: the file must be a map, got a list'],
    ['domain: [a]\n', 1, 9, 'error loading config file: domain must be text, got a list'],
    ['domain: d\ndescriptors: 5\n', 2, 14, 'error loading config file: descriptors must be a list, got 5'],
    [limitWith('unlimited: maybe'), 7, 18, 'error loading config file: unlimited must be true or false, got maybe'],
    [
      limitWith('').replace('100', '-1'),
      6,
      26,
      'error loading config file: requests_per_unit must be a whole number from 0 to 4294967295, got -1',
    ],
    [
      limitWith('').replace('100', '4294967296'),
      6,
      26,
      'error loading config file: requests_per_unit must be a whole number from 0 to 4294967295, got 4294967296',
    ],
    [
      limitWith('').replace('100', '"100"'),
      6,
      26,
      'error loading config file: requests_per_unit must be a whole number from 0 to 4294967295, got 100',
    ],
    ['domain: d\ndescriptors: *x\n', 2, 14, "error loading config file: yaml: unknown anchor 'x' referenced"],
    [
      'domain: d\ndescriptors:\n  - { key: k, metadata: &x { a: [*x] } }\n',
      3,
      34,
      "error loading config file: yaml: anchor 'x' value contains itself",
    ],
    [
      'domain: d\ndescriptors:\n  - { key: k, metadata: { a: .inf } }\n',
      3,
      30,
      'error parsing metadata: .inf is no number that JSON has',
    ],
  ];
  it.each(rows)('%j', (text, line, column, message) => {
    expect(wrong(text)).toEqual([{ file: 'a.yaml', line, column, message }]);
  });
});

describe('a file that is too much', () => {
  it('may have metadata as deep as an answer can carry, and none deeper', () => {
    const file = (depth: number) =>
      `domain: d\ndescriptors:\n  - key: k\n    metadata: ${'{ a: '.repeat(depth)}[]${' }'.repeat(depth)}\n    rate_limit: { unit: day }\n`;
    expect(wrong(file(31))).toEqual([
      { file: 'a.yaml', line: 4, column: 15, message: 'error parsing metadata: values are nested deeper than 31' },
    ]);
    const { metadata } = load(file(30)).limits[0]!;
    expect(() => writeStruct(new WireWriter(), 2, { metadata })).not.toThrow();
    expect(() => writeStruct(new WireWriter(), 2, { metadata: { one: metadata } })).toThrow('nested at most 32 deep');
  });

  it('is not parsed when its values are nested too deep, in any style', () => {
    const deep = 100_000;
    for (const text of ['['.repeat(deep), '{a: '.repeat(deep), '- '.repeat(deep), '? '.repeat(deep)]) {
      expect(wrong(text).map(({ message }) => message)).toEqual([
        'error loading config file: values are nested deeper than 128',
      ]);
    }
  });

  it('is rejected when descriptors are nested deeper than requests go', () => {
    let text = 'domain: d\n';
    for (let depth = 0; depth < 33; depth += 1) {
      text += `${'  '.repeat(depth)}descriptors:\n${'  '.repeat(depth)}- key: k\n`;
    }
    expect(wrong(text).map(({ message }) => message)).toEqual(['descriptors are nested deeper than 32']);
  });

  it('is rejected when aliases make it larger than it is', () => {
    const names = 'abcdefghijkl';
    const list = (name: string) => `[${Array.from({ length: 10 }, () => `*${name}`).join(', ')}]`;
    const laughs = [...names].map((name, i) => `  ${name}: &${name} ${i === 0 ? '[1]' : list(names[i - 1]!)}\n`);
    const text = `domain: d\ndescriptors:\n- key: k\n  metadata:\n${laughs.map((line) => `  ${line}`).join('')}`;
    expect(wrong(text).map(({ message }) => message)).toEqual(['error loading config file: more than 1000000 values']);
  });

  it('is rejected when it is larger than files are', () => {
    expect(wrong('#'.repeat(2 ** 24 + 1)).map(({ message }) => message)).toEqual([
      'error loading config file: more than 16777216 characters',
    ]);
  });
});

describe('algorithm, the key that is ours', () => {
  it('is fixed-window where nothing is said', () => {
    expect(load(limitWith('')).limits[0]?.rate?.policy).toEqual({
      algorithm: 'fixed-window',
      limit: 100,
      window: 60_000,
    });
  });

  const rows: [more: string, policy: object][] = [
    ['algorithm: gcra\nburst: 20', { algorithm: 'gcra', limit: 100, window: 60_000, burst: 20 }],
    ['algorithm: gcra', { algorithm: 'gcra', limit: 100, window: 60_000, burst: 100 }],
    ['algorithm: sliding-slots\nslots: 6', { algorithm: 'sliding-slots', limit: 100, window: 60_000, slots: 6 }],
    ['algorithm: sliding-log', { algorithm: 'sliding-log', limit: 100, window: 60_000 }],
    ['algorithm: leaky-bucket\nburst: 5', { algorithm: 'leaky-bucket', burst: 5, delay: 'none' }],
  ];
  it.each(rows)('picks another: %j', (more, policy) => {
    expect(load(limitWith(more)).limits[0]?.rate?.policy).toMatchObject(policy);
  });

  const one = 'fixed-window, sliding-window, sliding-log, sliding-slots, token-bucket, gcra, leaky-bucket';
  const wrongRows: [more: string, line: number, column: number, message: string][] = [
    ['algorithm: gcraa', 7, 18, `algorithm must be one of ${one}, got gcraa`],
    ['algorithm: smooth', 7, 18, `algorithm must be one of ${one}, got smooth`],
    ['algorithm: concurrency', 7, 18, `algorithm must be one of ${one}, got concurrency`],
    ['algorithm: gcra\nburst: 0', 8, 7, 'burst must be a number above 0, got 0.'],
    ['algorithm: gcra\nburst: lots', 8, 7, 'burst must be a number above 0, got "lots".'],
    ['burst: 20', 7, 7, 'fixedWindow has no field "burst". It takes limit, window, align, wait.'],
  ];
  it.each(wrongRows)('wrong, and told where: %j', (more, line, column, message) => {
    expect(wrong(limitWith(more))).toEqual([{ file: 'a.yaml', line, column, message }]);
  });

  it('has no place beside unlimited', () => {
    const text = 'domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unlimited: true, algorithm: gcra }\n';
    expect(wrong(text)).toMatchObject([{ line: 4, message: 'should not specify algorithm when unlimited' }]);
  });

  it('is a known key of a rate_limit only', () => {
    expect(wrong('domain: d\nalgorithm: gcra\n')).toMatchObject([{ message: "config error, unknown key 'algorithm'" }]);
  });
});
