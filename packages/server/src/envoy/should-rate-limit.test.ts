import fc from 'fast-check';
import { type Check, type Decision, memoryStore, SluiceError, type Store } from 'sluice';
import { degrade, layered } from 'sluice/layers';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { bench, request, startMs, upstreamRules } from './envoy.test-support.ts';
import { loadEnvoyFiles } from './load-envoy-files.ts';
import type { RateLimitRequest, Unit } from './rate-limit-message.ts';
import { envoyLimiter } from './should-rate-limit.ts';

const example = upstreamRules('example.yaml');
const basic = upstreamRules('basic_config.yaml');
const minute = 60_000;

/** A domain `d` of descriptors written in one line each. */
const domain = (...descriptors: string[]) =>
  `domain: d\ndescriptors:\n${descriptors.map((one) => `  - ${one}\n`).join('')}`;
const two = '{ key: two, rate_limit: { unit: minute, requests_per_unit: 2 } }';
const five = '{ key: five, rate_limit: { unit: minute, requests_per_unit: 5 } }';
const none = '{ key: none, rate_limit: { unit: minute, requests_per_unit: 0 } }';

/** What an error of a request says. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof SluiceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'no error';
}

describe('a status', () => {
  it('has the code, the limit, what remains and when the window ends', () => {
    const { ask, clock } = bench(basic);
    expect(ask('test-domain', ['key4=a'])).toEqual({
      overallCode: 'OK',
      statuses: [
        {
          code: 'OK',
          currentLimit: { requestsPerUnit: 1, unit: 'DAY', name: 'key4_rate_limit' },
          limitRemaining: 0,
          durationUntilResetSeconds: 86_400 - ((startMs / 1000) % 86_400),
        },
      ],
      responseHeadersToAdd: [],
      requestHeadersToAdd: [],
      dynamicMetadata: undefined,
    });
    expect(ask('test-domain', ['key4=a'])).toMatchObject({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT', currentLimit: { name: 'key4_rate_limit' }, limitRemaining: 0 }],
    });
    clock.set(Math.ceil(startMs / 86_400_000) * 86_400_000);
    expect(ask('test-domain', ['key4=a']).overallCode).toBe('OK');
  });

  it('counts the seconds of a window from the whole of it down to 1', () => {
    const rows: [afterMs: number, seconds: number][] = [
      [0, 45],
      [1, 45],
      [999, 45],
      [1000, 44],
      [44_000, 1],
      [44_999, 1],
      [45_000, 60], // a new window
    ];
    const { ask, clock } = bench(domain(five));
    for (const [afterMs, seconds] of rows) {
      clock.set(startMs - (startMs % minute) + 15_000 + afterMs);
      const [status] = ask('d', [{ of: 'five=a', hitsAddend: 0 }]).statuses;
      expect([afterMs, status?.durationUntilResetSeconds]).toEqual([afterMs, seconds]);
    }
  });

  it.each([
    ['second', 1],
    ['minute', 60],
    ['hour', 3_600],
    ['day', 86_400],
    ['week', 604_800],
    ['month', 2_592_000],
    ['year', 31_536_000],
  ])('a %s is %d seconds, aligned to the epoch', (unit, seconds) => {
    const { short, ask, clock } = bench(domain(`{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: 1 } }`));
    const windowMs = seconds * 1000;
    const beginMs = Math.floor(startMs / windowMs) * windowMs;
    clock.set(beginMs + windowMs - 1);
    expect(ask('d', ['k=a']).statuses[0]?.durationUntilResetSeconds).toBe(1);
    expect(short('d', ['k=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    clock.set(beginMs + windowMs);
    expect(ask('d', ['k=a']).statuses[0]?.durationUntilResetSeconds).toBe(seconds);
  });

  it('of what is unlimited says so, and of what is matched by nothing, or by no limit, only OK', () => {
    const { short } = bench(basic);
    const descriptors = ['key6=a', 'nothing=a', 'key2=value3', 'key1=value1', 'key2=value2 deeper=x'];
    expect(short('test-domain', descriptors)).toBe('OK, OK 4294967295, OK -, OK -, OK -, OK -');
  });

  it('where nothing is limited the store is not asked', () => {
    const store: Store = {
      mode: 'sync',
      clock: new TestClock(startMs),
      apply: () => {
        throw new Error('asked');
      },
    };
    expect(bench(basic, { store }).short('test-domain', ['key6=a', 'nothing=a'])).toBe('OK, OK 4294967295, OK -');
    expect(() => bench(basic, { store }).ask('test-domain', ['key6=a', 'key2=a'])).toThrow('asked');
  });
});

describe('all or nothing', () => {
  it('when one descriptor refuses, none is charged, and the others say what remains to them', () => {
    const { short } = bench(domain(two, five));
    expect(short('d', ['two=a', 'five=a'])).toBe('OK, OK 1, OK 4');
    expect(short('d', ['two=a', 'five=a'])).toBe('OK, OK 0, OK 3');
    for (let i = 0; i < 10; i += 1) expect(short('d', ['two=a', 'five=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0, OK 3');
    expect(short('d', ['five=a'])).toBe('OK, OK 2');
  });

  it('refused hits are not counted: whoever asks for too much may ask for less', () => {
    const { short } = bench(domain(five));
    expect(short('d', ['five=a'], 3)).toBe('OK, OK 2');
    expect(short('d', ['five=a'], 3)).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('d', ['five=a'], 2)).toBe('OK, OK 0');
  });

  it('the same descriptor twice adds up', () => {
    const { short } = bench(domain(five));
    expect(short('d', ['five=a', 'five=a'], 2)).toBe('OK, OK 3, OK 1');
    expect(short('d', ['five=a', 'five=a'])).toBe('OVER_LIMIT, OK 1, OVER_LIMIT 0');
    expect(short('d', ['five=a'])).toBe('OK, OK 0');
  });

  it('a limit of 0 is always over, and a question about it is not', () => {
    const { short } = bench(domain(none, five));
    expect(short('d', ['none=a', 'five=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0, OK 5');
    expect(short('d', [{ of: 'none=a', hitsAddend: 0 }, 'five=a'])).toBe('OK, OK 0, OK 4');
  });
});

describe('hits_addend', () => {
  it('of the request is for descriptors without one of their own; 0 is 1', () => {
    const { short } = bench(domain(five));
    expect(short('d', ['five=a', { of: 'five=b', hitsAddend: 3 }], 2)).toBe('OK, OK 3, OK 2');
    expect(short('d', ['five=a'], 0)).toBe('OK, OK 2');
  });

  it('of 0 in a descriptor asks without counting, and exactly at the limit that is OK', () => {
    const { short } = bench(domain(two));
    const peek = { of: 'two=a', hitsAddend: 0 };
    expect(short('d', [peek])).toBe('OK, OK 2');
    expect(short('d', ['two=a'], 2)).toBe('OK, OK 0');
    expect(short('d', [peek])).toBe('OK, OK 0');
    expect(short('d', ['two=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
  });

  it('beyond every limit is refused, however large', () => {
    const { short } = bench(domain(five));
    for (const hitsAddend of [6, 2 ** 32, 2 ** 63, 2 ** 64]) {
      expect(short('d', [{ of: 'five=a', hitsAddend }])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    }
  });

  it('that is negative is given back, at most what was taken, and not in a request that is refused', () => {
    const { short } = bench(domain(two, five));
    const refund = { of: 'five=a', hitsAddend: 2, isNegativeHits: true };
    expect(short('d', ['five=a'], 5)).toBe('OK, OK 0');
    expect(short('d', [refund])).toBe('OK, OK 2');
    expect(short('d', ['two=a', refund], 3)).toBe('OVER_LIMIT, OVER_LIMIT 0, OK 2');
    expect(short('d', [{ ...refund, hitsAddend: 100 }])).toBe('OK, OK 5');
    expect(short('d', ['five=a'])).toBe('OK, OK 4');
  });
});

describe('a limit that comes with the request', () => {
  const own = (of: string, requestsPerUnit: number, unit: Unit) => ({ of, limit: { requestsPerUnit, unit } });

  it('goes before the configured one, and counts on from where that is', () => {
    const { short } = bench(domain(two));
    expect(short('d', ['two=a'], 2)).toBe('OK, OK 0');
    expect(short('d', [own('two=a', 5, 'MINUTE')])).toBe('OK, OK 2');
    expect(short('d', [own('two=a', 3, 'MINUTE')])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('d', ['two=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
  });

  it('of another unit has a count of its own, also where nothing is configured', () => {
    const { short, ask } = bench(domain(two));
    expect(short('d', ['two=a'], 2)).toBe('OK, OK 0');
    expect(short('d', [own('two=a', 2, 'HOUR'), own('user=alice', 3, 'DAY')])).toBe('OK, OK 1, OK 2');
    const [status] = ask('d', [own('user=alice', 3, 'DAY')]).statuses;
    expect(status?.currentLimit).toEqual({ requestsPerUnit: 3, unit: 'DAY', name: '' });
    expect(short('d', [own('user=alice', 3, 'DAY')])).toBe('OK, OK 0');
    expect(short('d', [own('user=alice', 3, 'DAY')])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('d', [own('user=bob', 3, 'DAY')])).toBe('OK, OK 2');
  });

  it('is enforced also where the configured one is in shadow mode, unlimited or replaced', () => {
    const { short } = bench(example);
    for (const of of ['foo=* baz=shady', 'qux=a', 'foo=* bar=banned']) {
      expect(short('rl', [own(of, 0, 'MINUTE')])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    }
  });

  it('with an unknown unit is wrong, and so is a count that is none', () => {
    const { ask } = bench(domain(two));
    expect(refusal(() => ask('d', ['two=a', own('two=a', 5, 'UNKNOWN')]))).toBe(
      'invalid-option: descriptors[1].limit.unit must be one of SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, got UNKNOWN.',
    );
    expect(refusal(() => ask('d', [own('two=a', 2 ** 32, 'DAY')]))).toContain(
      'requests_per_unit must be a whole number',
    );
    expect(refusal(() => ask('d', [own('two=a', Number.NaN, 'DAY')]))).toContain('requests_per_unit must be a whole');
  });

  it('makes no names, and only so many policies at once', () => {
    const names = new Set<string>();
    const { ask, clock } = bench(domain(two), { onStatus: (name) => names.add(name) });
    for (let i = 1; i <= 1000; i += 1) ask('d', [own(`user=${i}`, i, 'MINUTE')]);
    expect([...names]).toEqual(['envoy/d||minute']);
    expect(refusal(() => ask('d', [own('user=x', 5000, 'MINUTE')]))).toContain(
      'store-full: descriptors[0].limit is one of',
    );
    expect(ask('d', [own('user=x', 7, 'MINUTE')]).overallCode).toBe('OK');
    clock.advance(minute);
    expect(ask('d', [own('user=x', 5000, 'MINUTE')]).overallCode).toBe('OK');
  });

  it('one that is in use stays, and counts among those', () => {
    const { ask, clock } = bench(domain(two));
    for (let i = 1; i <= 1000; i += 1) ask('d', [own(`user=${i}`, i, 'MINUTE')]);
    clock.advance(minute / 2);
    ask('d', [own('user=7', 7, 'MINUTE')]);
    clock.advance(minute / 2);
    for (let i = 1; i <= 999; i += 1) ask('d', [own(`user=${i}`, 2000 + i, 'MINUTE')]);
    expect(refusal(() => ask('d', [own('user=x', 5000, 'MINUTE')]))).toContain('store-full');
  });
});

describe('shadow_mode', () => {
  it('never refuses: OK with nothing left, and the others are charged', () => {
    const { short } = bench(
      domain('{ key: s, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }', five),
    );
    expect(short('d', ['s=a', 'five=a'])).toBe('OK, OK 0, OK 4');
    expect(short('d', ['s=a', 'five=a'])).toBe('OK, OK 0, OK 3');
  });
});

describe('replaces', () => {
  it('drops the named limits of the other descriptors, whatever their order', () => {
    const { short } = bench(example);
    const banned = 'foo=* bar=banned'; // banned_limit, 0 per minute
    const override = 'source_cluster=proxy destination_cluster=override'; // replaces banned_limit
    expect(short('rl', [banned])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('rl', [banned, override])).toBe('OK, OK -, OK 1');
    expect(short('rl', [override, banned])).toBe('OK, OK 0, OK -');
  });

  it('drops them, as upstream’s example has it', () => {
    const { short } = bench(example);
    const named = 'foo=x bar=bkthomps'; // bkthomps, 1 per minute
    expect(short('rl', ['category=account', named])).toBe('OK, OK 3, OK -');
    expect(short('rl', [named, 'category=account'])).toBe('OK, OK -, OK 2');
    expect(short('rl', ['source_cluster=proxy destination_cluster=fake', 'category=account'])).toBe('OK, OK -, OK 1');
  });

  it('is done by an unlimited descriptor too', () => {
    const limits = domain(
      '{ key: free, rate_limit: { unlimited: true, replaces: [{ name: strict }] } }',
      '{ key: k, rate_limit: { name: strict, unit: day, requests_per_unit: 0 } }',
    );
    expect(bench(limits).short('d', ['k=a', 'free=a'])).toBe('OK, OK -, OK 4294967295');
  });
});

describe('quota_mode', () => {
  const first = 'service=service_1'; // 1 per minute
  const second = 'service=service_2'; // 2 per minute

  it('refuses only when all quotas are over, and charges those that are not', () => {
    const { short } = bench(example);
    expect(short('rl', [first, second])).toBe('OK, OK 0, OK 1');
    expect(short('rl', [first, second])).toBe('OK, OVER_LIMIT 0, OK 0');
    expect(short('rl', [first, second])).toBe('OVER_LIMIT, OVER_LIMIT 0, OVER_LIMIT 0');
    expect(short('rl', [second, first])).toBe('OVER_LIMIT, OVER_LIMIT 0, OVER_LIMIT 0');
  });

  it('alone refuses like any limit', () => {
    const { short } = bench(example);
    expect(short('rl', [first])).toBe('OK, OK 0');
    expect(short('rl', [first])).toBe('OVER_LIMIT, OVER_LIMIT 0');
  });

  it('takes nothing from the other limits when all quotas are over, and nothing when another limit is', () => {
    const { short } = bench(example);
    const other = 'unspec=a'; // 2 per minute
    expect(short('rl', [other, first, second])).toBe('OK, OK 1, OK 0, OK 1');
    expect(short('rl', [second])).toBe('OK, OK 0');
    expect(short('rl', [other, first, second])).toBe('OVER_LIMIT, OK 1, OVER_LIMIT 0, OVER_LIMIT 0');
    expect(short('rl', [other])).toBe('OK, OK 0');
    expect(short('rl', [other, 'service=service_2'])).toBe('OVER_LIMIT, OVER_LIMIT 0, OVER_LIMIT 0');
  });

  it('in shadow mode is never over, and then none of them refuses', () => {
    const limits = domain(
      '{ key: q, value: one, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }',
      '{ key: q, value: two, quota_mode: true, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }',
    );
    expect(bench(limits).short('d', ['q=one', 'q=two'])).toBe('OK, OVER_LIMIT 0, OK 0');
    expect(bench(limits).short('d', ['q=one'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
  });

  it('of 0 leaves the decision to the others', () => {
    const limits = domain(
      '{ key: q, value: none, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }',
      '{ key: q, value: one, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }',
    );
    const { short } = bench(limits);
    expect(short('d', ['q=none', 'q=one'])).toBe('OK, OVER_LIMIT 0, OK 0');
    expect(short('d', ['q=none', 'q=one'])).toBe('OVER_LIMIT, OVER_LIMIT 0, OVER_LIMIT 0');
  });

  it('says by metadata which of them is left', () => {
    const { ask } = bench(example);
    const name = () => ask('rl', [first, second]).dynamicMetadata;
    expect(name()).toEqual({ metadata: { service_with_quota: { name: 'service_1' } } });
    expect(name()).toEqual({ metadata: { service_with_quota: { name: 'service_2' } } });
    expect(name()).toBeUndefined();
  });
});

describe('metadata', () => {
  it('of several descriptors is merged, and what came first stays', () => {
    const limit = 'rate_limit: { unit: day, requests_per_unit: 9 }';
    const { ask } = bench(
      domain(
        `{ key: a, metadata: { x: 1, deep: { a: 1 } }, ${limit} }`,
        `{ key: b, metadata: { x: 2, y: 3, deep: { a: 2, b: [2] } }, ${limit} }`,
      ),
    );
    expect(ask('d', ['a=1', 'b=1']).dynamicMetadata).toEqual({ metadata: { x: 1, y: 3, deep: { a: 1, b: [2] } } });
  });
});

describe('share_threshold', () => {
  it('counts all values of a pattern together, and without it each on its own', () => {
    const { short } = bench(upstreamRules('share_threshold.yaml'));
    expect(short('share-threshold-test', ['files=files/a.pdf'], 6)).toBe('OK, OK 4');
    expect(short('share-threshold-test', ['files=files/b.csv'], 4)).toBe('OK, OK 0');
    expect(short('share-threshold-test', ['files=files/c.txt'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('share-threshold-test', ['files_no_share=files_no_share/a'], 10)).toBe('OK, OK 0');
    expect(short('share-threshold-test', ['files_no_share=files_no_share/b'], 10)).toBe('OK, OK 0');
  });
});

describe('another algorithm', () => {
  it('gcra tells when the hit would pass, and when all is as new, rounded up', () => {
    const { ask, clock } = bench(
      domain('{ key: k, rate_limit: { unit: minute, requests_per_unit: 6, algorithm: gcra, burst: 2 } }'),
    );
    const rows: [afterMs: number, code: string, remaining: number, seconds: number][] = [
      [0, 'OK', 1, 10],
      [0, 'OK', 0, 20],
      [0, 'OVER_LIMIT', 0, 10],
      [9_999, 'OVER_LIMIT', 0, 1],
      [10_000, 'OK', 0, 20],
    ];
    for (const [afterMs, code, remaining, seconds] of rows) {
      clock.set(startMs + afterMs);
      const { statuses } = ask('d', ['k=a']);
      expect(statuses).toMatchObject([
        {
          code,
          limitRemaining: remaining,
          durationUntilResetSeconds: seconds,
          currentLimit: { requestsPerUnit: 6, unit: 'MINUTE' },
        },
      ]);
    }
    // More than ever passes at once: what helps is not waiting, and the time is that until all is as new.
    expect(ask('d', ['k=a'], 3).statuses).toMatchObject([{ code: 'OVER_LIMIT', durationUntilResetSeconds: 20 }]);
  });

  it.each(['sliding-log', 'sliding-slots', 'sliding-window', 'token-bucket', 'gcra', 'leaky-bucket, burst: 4'])(
    '%s lets five pass at once, and no sixth',
    (algorithm) => {
      const { short } = bench(
        domain(`{ key: k, rate_limit: { unit: minute, requests_per_unit: 5, algorithm: ${algorithm} } }`),
      );
      for (let left = 4; left >= 0; left -= 1) expect(short('d', ['k=a'])).toBe(`OK, OK ${left}`);
      expect(short('d', ['k=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    },
  );

  it('of 0 refuses everything, whatever the burst', () => {
    const { short } = bench(
      domain('{ key: k, rate_limit: { unit: day, requests_per_unit: 0, algorithm: gcra, burst: 9 } }'),
    );
    expect(short('d', ['k=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
  });
});

describe('response headers', () => {
  const values = (limiter: ReturnType<typeof bench>, descriptors: string[], hits = 0) =>
    limiter.ask('d', descriptors, hits).responseHeadersToAdd.map(({ key, value }) => `${key}: ${value}`);

  it('are about the descriptor with the least left, or the last one that is over', () => {
    const limiter = bench(domain(two, five, '{ key: one, rate_limit: { unit: hour, requests_per_unit: 1 } }'), {
      responseHeaders: () => true,
    });
    expect(values(limiter, ['five=a', 'two=a', 'nothing=a'])).toEqual([
      'RateLimit-Limit: 2',
      'RateLimit-Remaining: 1',
      `RateLimit-Reset: ${60 - ((startMs / 1000) % 60)}`,
    ]);
    expect(values(limiter, ['two=b', 'one=a', 'five=a'], 2).slice(0, 2)).toEqual([
      'RateLimit-Limit: 1',
      'RateLimit-Remaining: 0',
    ]);
    expect(values(limiter, ['one=a', 'two=b', 'five=a'], 3)[0]).toBe('RateLimit-Limit: 2');
    expect(values(limiter, ['nothing=a'])).toEqual([]);
  });

  it('are not there unless asked for', () => {
    expect(bench(domain(two)).ask('d', ['two=a']).responseHeadersToAdd).toEqual([]);
  });
});

describe('what cannot be asked', () => {
  const { shouldRateLimit } = bench(basic);
  const rows: [asked: RateLimitRequest, message: string][] = [
    [request('', ['key2=a']), 'rate limit domain must not be empty'],
    [request('test-domain', []), 'rate limit descriptor list must not be empty'],
    [request('test-domain', ['key2=a', '']), 'descriptors[1].entries must not be empty'],
    [request('test-domain', ['key2=a =b']), 'descriptors[0].entries[1].key must not be empty'],
    [request('nowhere', ['']), 'descriptors[0].entries must not be empty'],
    [request('test-domain', ['key2=a'], -1), 'hits_addend must be a whole number of 0 or more, got -1'],
    [
      request('test-domain', [{ of: 'key2=a', hitsAddend: 0.5 }]),
      'descriptors[0].hits_addend must be a whole number of 0 or more, got 0.5',
    ],
    [
      request('test-domain', [{ of: 'key2=a', hitsAddend: Number.NaN }]),
      'descriptors[0].hits_addend must be a whole number of 0 or more, got NaN',
    ],
  ];
  it.each(rows)('%j', (asked, message) => {
    expect(refusal(() => shouldRateLimit(asked))).toBe(`invalid-option: ${message}`);
  });
});

it('without any file there is no answer', () => {
  const rules = loadEnvoyFiles([], { mergeDomains: false });
  expect(refusal(() => bench(rules).ask('d', ['two=a']))).toBe('store-unavailable: no rate limit configuration loaded');
});

describe('a store that answers later, or not at all', () => {
  const clock = new TestClock(startMs);
  const rules = loadEnvoyFiles([{ path: 'a.yaml', text: domain(two, five) }], { mergeDomains: false });
  const over = (store: Store) => envoyLimiter({ rules: () => rules, store, responseHeaders: () => false });
  const later = (apply: (checks: readonly Check[]) => Promise<Decision[]>): Store => ({ mode: 'async', clock, apply });
  const down = () => Promise.reject(new SluiceError('store-unavailable', 'gone'));

  it('is waited for', async () => {
    const memory = memoryStore({ clock });
    const limiter = over(later(async (checks) => memory.apply(checks)));
    const answers = await Promise.all([1, 2, 3].map(() => limiter.shouldRateLimit(request('d', ['two=a', 'five=a']))));
    expect(answers.map(({ overallCode }) => overallCode)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
  });

  it('that fails is an error, never OK', async () => {
    await expect(over(later(down)).shouldRateLimit(request('d', ['two=a']))).rejects.toMatchObject({
      code: 'store-unavailable',
    });
    await expect(over(later(async () => [])).shouldRateLimit(request('d', ['two=a']))).rejects.toMatchObject({
      code: 'store-unavailable',
    });
  });

  it('that fails closed is an error, and one that fails open or decides alone is an answer', async () => {
    const degraded = (to: 'closed' | 'open' | 'local') => over(layered(later(down), degrade({ to })));
    const asked = request('d', ['two=a', 'five=a']);
    await expect(degraded('closed').shouldRateLimit(asked)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(await degraded('open').shouldRateLimit(asked)).toMatchObject({ overallCode: 'OK' });
    const local = degraded('local');
    const codes = [];
    for (let i = 0; i < 3; i += 1) codes.push((await local.shouldRateLimit(asked)).overallCode);
    expect(codes).toEqual(['OK', 'OK', 'OVER_LIMIT']);
  });

  it('that has no room for a newcomer of a strict limit is an error: nobody is over, and nobody may pass uncounted', () => {
    const full = memoryStore({ clock, maxKeys: 1 });
    const rate = 'rate_limit: { unit: day, requests_per_unit: 2, algorithm: sliding-log }';
    const strict = domain(`{ key: k, ${rate} }`, `{ key: s, shadow_mode: true, ${rate} }`);
    const { short, counts } = bench(strict, { store: full });
    expect(short('d', ['k=a'])).toBe('OK, OK 1');
    expect(refusal(() => short('d', ['k=b']))).toMatch(/^store-full: There is no room to count another key of "/);
    expect(refusal(() => short('d', ['k=a', 'k=b']))).toMatch(/^store-full/);
    // Who is known is told what is true, and what never refuses needs no room.
    expect(short('d', ['k=a'])).toBe('OK, OK 0');
    expect(short('d', ['k=a'])).toBe('OVER_LIMIT, OVER_LIMIT 0');
    expect(short('d', ['s=a'])).toBe('OK, OK 0');
    expect([...counts()].map(({ descriptor, overLimit }) => [descriptor, overLimit])).toEqual([
      ['k', 1],
      ['s', 1],
    ]);
  });
});

describe('a reload', () => {
  it('keeps what was used, and the new limit applies to it', () => {
    const { store } = bench(domain(two));
    const file = (text: string) => loadEnvoyFiles([{ path: 'a.yaml', text }], { mergeDomains: false });
    let rules = file(domain(five));
    const limiter = envoyLimiter({ rules: () => rules, store, responseHeaders: () => false });
    const ask = () => limiter.shouldRateLimit(request('d', ['five=a'], 2));
    expect(ask()).toMatchObject({ statuses: [{ limitRemaining: 3 }] });
    rules = file(domain(two, five.replace('requests_per_unit: 5', 'requests_per_unit: 4')));
    expect(ask()).toMatchObject({ statuses: [{ limitRemaining: 0 }] });
    expect(ask()).toMatchObject({ overallCode: 'OVER_LIMIT' });
  });
});

describe('whatever is asked', () => {
  const limits = domain(
    '{ key: a, rate_limit: { unit: second, requests_per_unit: 3 } }',
    '{ key: b, rate_limit: { unit: minute, requests_per_unit: 4 } }',
    '{ key: a, value: x*, share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 5 } }',
    '{ key: s, shadow_mode: true, rate_limit: { unit: second, requests_per_unit: 1 } }',
    '{ key: q, value: one, quota_mode: true, rate_limit: { unit: second, requests_per_unit: 2 } }',
    '{ key: q, value: two, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 3 } }',
    '{ key: z, rate_limit: { unit: second, requests_per_unit: 0 } }',
    '{ key: n, rate_limit: { name: n, unit: second, requests_per_unit: 1 } }',
    '{ key: r, rate_limit: { unit: minute, requests_per_unit: 6, replaces: [{ name: n }] } }',
    '{ key: u, rate_limit: { unlimited: true } }',
  );
  const texts = ['a=1', 'a=2', 'a=x1', 'a=x2', 'b=1', 's=1', 'q=one', 'q=two', 'z=1', 'n=1', 'r=1', 'u=1', 'none=1'];
  const descriptor = fc.record({
    of: fc.constantFrom(...texts),
    hitsAddend: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    limit: fc.option(
      fc.record({ requestsPerUnit: fc.integer({ min: 0, max: 6 }), unit: fc.constantFrom('SECOND', 'MINUTE') }),
      {
        nil: undefined,
        freq: 6,
      },
    ),
  });
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 700 }),
    descriptors: fc.array(descriptor, { minLength: 1, maxLength: 5 }),
    hits: fc.integer({ min: 0, max: 3 }),
  });

  it('no window lets more through than its limit, statuses add up, and nothing is UNKNOWN', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        const granted: { name: string; key: string; atMs: number; hits: number; limit: number; windowMs: number }[] =
          [];
        let answered: [name: string, key: string, decision: Decision][] = [];
        const limiter = bench(limits, { onStatus: (...told) => answered.push(told) });
        for (const { waitMs, descriptors, hits } of steps) {
          limiter.clock.advance(waitMs);
          answered = [];
          const written = descriptors.map(({ limit, ...rest }) => ({
            ...rest,
            ...(limit && { limit: limit as never }),
          }));
          const { overallCode, statuses } = limiter.ask('d', written, hits);
          expect(statuses).toHaveLength(descriptors.length);
          const limited = statuses.flatMap((status, i) =>
            status.currentLimit ? [{ status, asked: descriptors[i]! }] : [],
          );
          expect(answered).toHaveLength(limited.length);
          limited.forEach(({ status, asked }, i) => {
            const [name, key, decision] = answered[i]!;
            expect(['OK', 'OVER_LIMIT']).toContain(status.code);
            expect(status.limitRemaining).toBeLessThanOrEqual(status.currentLimit!.requestsPerUnit);
            if (overallCode !== 'OK' || !decision.allowed) return;
            granted.push({
              name,
              key,
              atMs: limiter.clock.now(),
              hits: asked.hitsAddend ?? (hits || 1),
              limit: status.currentLimit!.requestsPerUnit,
              windowMs: status.currentLimit!.unit === 'SECOND' ? 1000 : minute,
            });
          });
          const plain = limited.filter(
            ({ status, asked }) => status.code === 'OVER_LIMIT' && !asked.of.startsWith('q'),
          );
          if (plain.length > 0) expect(overallCode).toBe('OVER_LIMIT');
          if (statuses.every(({ code }) => code === 'OK')) expect(overallCode).toBe('OK');
        }
        // Of each count, all that passed up to a grant of its window is within the limit that this grant was judged by.
        const used = new Map<string, number>();
        for (const { name, key, atMs, hits, limit, windowMs } of granted) {
          const window = `${name} ${key} ${Math.floor(atMs / windowMs)}`;
          used.set(window, (used.get(window) ?? 0) + hits);
          if (hits > 0) expect([window, used.get(window)! <= limit]).toEqual([window, true]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('files that change', () => {
  const yearly = (unit: string) =>
    loadEnvoyFiles(
      [{ path: 'a.yaml', text: domain(`{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: 3 } }`) }],
      {
        mergeDomains: false,
      },
    );

  it('give nothing out again when a unit becomes shorter', () => {
    const clock = new TestClock(startMs);
    let rules = yearly('year');
    const limiter = envoyLimiter({ rules: () => rules, store: memoryStore({ clock }), responseHeaders: () => false });
    const allowed = () =>
      [1, 2, 3, 4].filter(() => {
        const { overallCode } = limiter.shouldRateLimit(request('d', ['k=v'])) as { overallCode: string };
        return overallCode === 'OK';
      }).length;
    expect(allowed()).toBe(3);
    for (const unit of ['month', 'week', 'day', 'year']) {
      clock.advance(1000);
      rules = yearly(unit);
      expect([unit, allowed()]).toEqual([unit, 0]);
    }
  });
});

it('takes entries of so many bytes, and no longer ones', () => {
  const rules = loadEnvoyFiles([{ path: 'a.yaml', text: domain(five) }], { mergeDomains: false });
  const limiter = envoyLimiter({ rules: () => rules, store: memoryStore(), responseHeaders: () => false, keyBytes: 8 });
  const ask = (entry: string) => refusal(() => limiter.shouldRateLimit(request('d', [entry])));
  expect(ask('five=12345678')).toBe('no error');
  expect(ask('five=éééé')).toBe('no error');
  expect(ask('five=éééé1')).toBe('invalid-option: descriptors[0].entries[0].value must be at most 8 bytes long, got 9');
  expect(ask('123456789=a')).toContain('entries[0].key must be at most 8 bytes long, got 9');
});
