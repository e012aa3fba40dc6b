import { describe, expect, test } from 'vitest';
import { advise } from './advice.ts';
import { adviceYaml } from './advice-yaml.ts';
import { distributionOf } from './distribution.ts';
import { type MadeEntry, type MadeTraceOptions, madeTrace } from './made-trace.test-support.ts';
import { separationOf } from './separation.ts';

const minuteMs = 60_000;

function adviceFor(
  entries: readonly MadeEntry[],
  options: Parameters<typeof advise>[3] = {},
  traceOptions: MadeTraceOptions = {},
) {
  const sorted = entries.slice().sort((a, b) => a.atMs - b.atMs);
  const trace = madeTrace(sorted, traceOptions);
  return advise(trace, distributionOf(trace), separationOf(trace), options);
}

/** Two hundred people who call a few times a minute, for twenty minutes. */
const people: readonly MadeEntry[] = Array.from({ length: 200 }, (_, person) =>
  Array.from({ length: 20 * (1 + (person % 4)) }, (_each, i) => ({
    atMs: Math.floor((i * 20 * minuteMs) / (20 * (1 + (person % 4)))) + person,
    client: `person-${person}`,
  })),
).flat();

const bots: readonly MadeEntry[] = ['bot-1', 'bot-2'].flatMap((client) =>
  Array.from({ length: 6000 }, (_, i) => ({ atMs: i * 200 + 7, client })),
);

describe('advice', () => {
  test('puts the limit between few who call much and the rest', () => {
    const advice = adviceFor([...people, ...bots]);
    expect(advice.basis).toBe('separation');
    expect(advice.policy).toMatchObject({ algorithm: 'gcra' });
    expect(advice.reasons[0]).toMatch(/^2 clients stand out \(0\.99% of the clients, 55% of the calls\)/);
    expect(advice.refuses).toMatchObject({ refusedClients: 2, clients: 202 });
    expect(advice.refuses.mostRefused.map(({ name }) => name).sort()).toEqual(['bot-1', 'bot-2']);
  });

  test('follows what may be refused where nobody stands out', () => {
    const advice = adviceFor(people, { refuse: { share: 0.05, of: 'clients' } });
    expect(advice.basis).toBe('share');
    expect(advice.refuses.refusedClientRatio).toBeLessThanOrEqual(0.05);
    expect(advice.reasons.join(' ')).toContain('refuses at most 5% of the clients');
  });

  test('leaves twice the burst that those need who are to pass', () => {
    // One in a minute, and once three at the same moment: at some 20 a minute that needs 3.
    const calm = Array.from({ length: 50 }, (_, person) =>
      Array.from({ length: 20 }, (_each, i) => ({
        atMs: i * minuteMs + person,
        client: `p${person}`,
        calls: i === 7 ? 3 : 1,
      })),
    ).flat();
    const { policy, reasons, refuses } = adviceFor([...calm, ...bots]);
    expect(policy.burst).toBe(6);
    expect(policy.burst).toBeLessThan(policy.limit);
    expect(reasons.join(' ')).toContain('needed more than 3 at once; the burst is twice that');
    expect(refuses.refusedClients).toBe(2);
  });

  test('keeps within what may be refused, also where a few bursts are above the limit', () => {
    const bursty = people.map((entry, i) => ({ ...entry, cost: i % 97 === 0 ? 400 : 3 }));
    for (const share of [0.001, 0.02]) {
      const { basis, refuses } = adviceFor(bursty, { refuse: { share, of: 'calls' } });
      expect(basis).toBe('share');
      expect(refuses.refusedCallRatio).toBeLessThanOrEqual(share);
    }
  });

  test('looks at costs, not at gaps between calls, where calls have costs', () => {
    const dear = people.map((entry) => ({ ...entry, cost: 1000 }));
    const { basis, policy } = adviceFor([...dear, ...bots]);
    expect(basis).toBe('share');
    expect(policy.limit).toBeGreaterThanOrEqual(4000);
  });

  test('takes the window that was asked for', () => {
    expect(adviceFor([...people, ...bots], { windowMs: 30_000 }).policy.window).toBe(30_000);
  });

  test('says what the log cannot', () => {
    const { warnings } = adviceFor(
      [
        { atMs: 0, client: 'a' },
        { atMs: 8000, client: 'b' },
      ],
      {},
      { tickMs: 1000, weights: { a: 4 } },
    );
    expect(warnings).toHaveLength(3);
    expect(warnings.join(' ')).toMatch(/covers only 9s.*known to a second.*stand for the others/);
  });

  test.each([
    ['ip', 'per-ip', 'ip'],
    ['user+route', 'per-user-route', ['user', 'method', 'path']],
    ['all', 'per-all', 'all'],
    ['req.headers.x-key', 'per-req-headers-x-key', 'req.headers.x-key'],
  ])('of a log read by %s is a rule named %s', (key, name, ruleKey) => {
    expect(adviceFor([{ atMs: 0, client: 'a' }], { key })).toMatchObject({ name, key: ruleKey });
  });

  test('writes the field that stood for the route', () => {
    expect(adviceFor([{ atMs: 0, client: 'a' }], { key: 'user+route', route: 'operation' }).key).toEqual([
      'user',
      'operation',
    ]);
    expect(adviceFor([{ atMs: 0, client: 'a' }], { key: 'route', route: 'operation' }).key).toBe('operation');
  });

  test('names what costs are of, and that checks must bring them', () => {
    const dear = people.map((entry) => ({ ...entry, cost: 1000 }));
    const advice = adviceFor(dear, { cost: 'bytes' });
    expect(advice.reasons.join(' ')).toMatch(
      /[\d,]+ of bytes a minute is the smallest limit .* needed more than [\d,]+ of bytes at once/,
    );
    expect(adviceYaml(advice)).toContain('    # A limit of bytes, not of calls: each check must bring its cost.');
    expect(adviceYaml(adviceFor(people))).not.toContain('must bring its cost');
  });

  test('does not say that the largest limit is enough where it is not', () => {
    const huge = [0, 1, 2, 3].map((atMs) => ({ atMs, client: 'a', cost: 9e14 }));
    const { reasons, refuses } = adviceFor(huge, { cost: 'bytes' });
    expect(refuses.refusedCallRatio).toBe(0.75);
    expect(reasons.join(' ')).toContain(
      'No limit refuses at most 0.1% of the calls: 1,000,000,000,000,000 of bytes a second is the largest that there is, and refuses more.',
    );
    expect(reasons.join(' ')).not.toMatch(/smallest limit|no more is refused/);
  });

  test('says which networks IPv6 was counted by, where rules would count by others', () => {
    expect(adviceYaml(adviceFor(people, { ipv6Subnet: 64 }))).toContain('\nipv6Subnet: 64\nrules:\n');
    expect(adviceYaml(adviceFor(people, { ipv6Subnet: 56 }))).not.toContain('ipv6Subnet');
  });

  test('of one client that is above its limit at times says nothing that its outcome contradicts', () => {
    // One in about twelve seconds, for two hours: some minutes have more of them than others.
    const everybody = Array.from({ length: 600 }, (_, i) => ({ atMs: i * 12_000 + (i % 7) * 900, client: 'all' }));
    const { reasons, refuses } = adviceFor(everybody, { key: 'all' });
    expect(refuses.refusedCallRatio).toBeLessThanOrEqual(0.001);
    expect(reasons.join(' ')).not.toContain('Nobody stays');
    expect(reasons.join(' ')).toContain('Every client is above the limit in some window.');
  });

  test('as YAML has the reasons in comments and refuses nobody at first', () => {
    const yaml = adviceYaml(adviceFor([...people, ...bots]));
    const lines = yaml.split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(yaml).toMatch(/^# 2 clients stand out/);
    expect(yaml).toMatch(
      /\nrules:\n {2}- name: per-ip\n {4}key: ip\n {4}algorithm: gcra\n {4}limit: \d+\n {4}window: \w+\n/,
    );
    expect(yaml).toContain('    shadow: true\n');
  });
});
