/** The whole command in this process: logs of each format in, a report out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import { type TuneOptions, type TuneReport, tune } from './tune.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tune-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const startMs = Date.UTC(2026, 9, 10, 12);

interface Call {
  readonly atMs: number;
  readonly ip: string;
  readonly user?: string;
  readonly route?: string;
  readonly status?: number;
}

/** Fifty people who call every ten seconds for ten minutes, and one who does it thirty times as often. */
const calls: readonly Call[] = [
  ...Array.from({ length: 50 }, (_, person) =>
    Array.from({ length: 60 }, (_each, i) => ({
      atMs: i * 10_000 + person * 100,
      ip: `198.51.100.${person}`,
      user: `user-${person % 10}`,
    })),
  ).flat(),
  ...Array.from({ length: 1800 }, (_, i) => ({
    atMs: i * 333,
    ip: '203.0.113.9',
    user: 'robot',
    route: '/login',
    status: 401,
  })),
].sort((a, b) => a.atMs - b.atMs);

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function combined({ atMs, ip, user = '-', route = '/', status = 200 }: Call): string {
  const at = new Date(startMs + atMs);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${two(at.getUTCDate())}/${months[at.getUTCMonth()]}/${at.getUTCFullYear()}`;
  const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
  return `${ip} - ${user} [${day}:${time} +0000] "GET ${route} HTTP/1.1" ${status} 512 "-" "curl/8"`;
}

const formats: Readonly<Record<string, (list: readonly Call[]) => string[]>> = {
  combined: (list) => list.map(combined),
  common: (list) => list.map((call) => combined(call).replace(' "-" "curl/8"', '')),
  json: (list) =>
    list.map(({ atMs, ip, user, route = '/', status = 200 }) =>
      JSON.stringify({ time: new Date(startMs + atMs).toISOString(), ip, user, method: 'GET', path: route, status }),
    ),
  csv: (list) => [
    'time,ip,user,method,path,status',
    ...list.map(({ atMs, ip, user = '', route = '/', status = 200 }) =>
      [new Date(startMs + atMs).toISOString(), ip, user, 'GET', route, status].join(','),
    ),
  ],
};

function logOf(lines: readonly string[], name = `${Math.random().toString(36).slice(2)}.log`): string {
  const path = join(folder, name);
  const text = lines.map((line) => `${line}\n`).join('');
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

async function run(
  log: string | readonly string[],
  options: Partial<TuneOptions> = {},
  stdin?: AsyncIterable<Uint8Array>,
) {
  let [out, error] = ['', ''];
  const streams = {
    environment: {},
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (error += text) },
    ...(stdin === undefined ? {} : { stdin }),
  };
  const code = await tune({ logs: [log].flat(), ...options }, streams);
  return { code, out, error };
}

async function reportOf(log: string | readonly string[], options: Partial<TuneOptions> = {}): Promise<TuneReport> {
  const { code, out, error } = await run(log, { ...options, json: true });
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as TuneReport;
}

const limit = '{"algorithm":"sliding-log","limit":60,"window":"1m"}';

describe('sluice tune', () => {
  it.each(Object.keys(formats))('reads %s and says who would have been refused, and what', async (format) => {
    const report = await reportOf(logOf(formats[format]!(calls)), { policy: limit });
    expect(report.read).toMatchObject({ files: [{ format }], read: 4800, malformed: 0 });
    expect(report.trace.clients).toBe(51);
    expect(report.asked!.whatIf).toMatchObject({ refusedClients: 1, clients: 51, calls: 4800 });
    expect(report.asked!.whatIf.mostRefused).toMatchObject([{ name: '203.0.113.9', calls: 1800 }]);
    // 60 of 180 in each of ten minutes.
    expect(report.asked!.whatIf.refusedCalls).toBeGreaterThanOrEqual(1190);
    expect(report.asked!.whatIf.refusedCalls).toBeLessThanOrEqual(1200);
    expect(report.asked!.replay!.refusedCalls).toBe(report.asked!.whatIf.refusedCalls);
    expect(report.asked!.replay!.routes).toMatchObject([{ name: 'GET /login' }]);
    expect(report.asked!.replay!.statuses).toMatchObject([{ status: 401 }]);
    expect(report.separation).toMatchObject({ isClear: true, clientsAbove: 1 });
  });

  test('gives a rule that the service accepts, and that refuses nobody at first', async () => {
    for (const key of ['ip', 'user', 'user+route', 'all', 'path']) {
      const { code, out } = await run(logOf(formats.json!(calls)), { yaml: true, key });
      expect(code).toBe(0);
      const read = readConfig({ text: out });
      expect(read).not.toHaveProperty('problems');
      expect('config' in read && read.config.rules).toMatchObject([{ shadow: true, policy: { algorithm: 'gcra' } }]);
    }
  });

  test('reads several files, gzipped ones and standard input as one log', async () => {
    const lines = formats.combined!(calls);
    const files = [logOf(lines.slice(0, 1000)), logOf(lines.slice(1000, 3000), 'rotated.gz')];
    async function* rest() {
      yield Buffer.from(lines.slice(3000).join('\n'));
    }
    const { code, out } = await run([...files, '-'], { json: true }, rest());
    expect(code).toBe(0);
    expect((JSON.parse(out) as TuneReport).read).toMatchObject({ read: 4800, malformed: 0 });
  });

  test('reads files in the order of time, in whatever order they are named', async () => {
    const lines = formats.json!(calls);
    const files = [
      logOf(lines.slice(3000), 'rotated.log'),
      logOf(lines.slice(1500, 3000), 'rotated.log.1'),
      logOf(['', 'not a line', ...lines.slice(0, 1500)], 'rotated.log.2.gz'),
    ];
    const { out } = await run(files, { policy: limit });
    const { logs, trace, asked } = await reportOf(files, { policy: limit });
    expect(logs).toEqual([...files].reverse());
    expect(trace).toMatchObject({ lateLines: 0, stepsBack: 0 });
    const inOne = (await reportOf(logOf(lines), { policy: limit })).asked!;
    expect(asked!.replay).toEqual(inOne.replay);
    expect(asked!.replay!.refusedCalls).toBe(asked!.whatIf.refusedCalls);
    expect(out).toMatch(/route +refused +of all refused\n +GET \/login/);
  });

  test('does not say which routes were refused where logs overlap', async () => {
    const lines = formats.json!(calls);
    const files = [logOf(lines.filter((_, i) => i % 2 === 0)), logOf(lines.filter((_, i) => i % 2 === 1))];
    const { code, out } = await run(files, { policy: limit });
    expect(code).toBe(0);
    expect(out).toContain('clock    went back 1 time, by up to');
    expect(out).toContain('Which routes were refused is not said');
    expect(out).not.toContain('of all refused');
    expect(out).not.toContain('What the log says of them');
    const { asked } = await reportOf(files, { policy: limit });
    expect(asked).not.toHaveProperty('replay');
    expect(asked!.whatIf.refusedCalls).toBe(
      (await reportOf(logOf(lines), { policy: limit })).asked!.whatIf.refusedCalls,
    );
  });

  test('tells shares only where late lines make the lines say something else than the trace', async () => {
    // By their own time the first and the second are 36 seconds apart; by the latest time seen, one second.
    const late = [
      { atMs: 40_000, ip: '203.0.113.1' },
      ...[5000, 41_000, 42_000].map((atMs) => ({ atMs, ip: '203.0.113.9', route: '/login' })),
    ];
    const policy = '{"algorithm":"sliding-log","limit":1,"window":"30s"}';
    const { out } = await run(logOf(formats.json!(late)), { policy });
    expect(out).toContain('order    1 line came late, by up to 35 seconds; each counts at its own time');
    expect(out).toContain('calls    1 of 4, 25%');
    expect(out.replace(/\s+/g, ' ')).toContain('by that, 2 calls would have been refused');
    expect(out).toMatch(/route +of all refused\n +GET \/login +100%/);
  });

  test('does not say what was refused line by line where there are more clients than fit', async () => {
    // Each comes once, so nobody is refused; a full store would refuse all who come after it is full.
    const strangers = Array.from({ length: 40_000 }, (_, i) => ({
      atMs: i,
      ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    }));
    const options = {
      policy: '{"algorithm":"sliding-log","limit":5,"window":"1h"}',
      maxMemory: '64MB',
      algorithm: 'gcra',
    };
    const log = logOf(formats.csv!(strangers));
    const { code, out } = await run(log, options);
    expect(code).toBe(0);
    expect(out).toMatch(/calls +0 of 40,000, 0%/);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'Which routes were refused is not said: that is told line by line, and there were more clients at once than fit. Give more with --max-memory.',
    );
    expect(out).not.toMatch(/would have been refused|late lines/);
    const { asked } = await reportOf(log, options);
    expect(asked).not.toHaveProperty('replay');
    expect(asked!.replayNote).toContain('more clients at once than fit');
    expect((await reportOf(log, { ...options, maxMemory: '1GB' })).asked!.replay).toMatchObject({ refusedCalls: 0 });
  });

  test('tells of a thinned log about how much, and exactly line by line', async () => {
    // Too many clients to keep; some begin to call much when the log is already being thinned.
    const strangers = Array.from({ length: 80_000 }, (_, i) => ({
      atMs: i * 20,
      ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    }));
    const regulars = Array.from({ length: 60_000 }, (_, i) => ({ atMs: i * 10 + 1_400_000, ip: `192.0.2.${i % 250}` }));
    const log = logOf(formats.csv!([...strangers, ...regulars].sort((a, b) => a.atMs - b.atMs)));
    const options = { policy: '{"algorithm":"gcra","limit":5,"window":"1m"}', maxMemory: '64MB', algorithm: 'gcra' };
    const { trace, asked } = await reportOf(log, options);
    expect(trace.thinnedTo).toBeGreaterThan(1);
    expect(trace).toMatchObject({ lateLines: 0, clientsKeptLate: expect.any(Number) });
    expect(trace.clientsKeptLate).toBeGreaterThan(50);
    const { out } = await run(log, options);
    expect(out).toMatch(/calls +about [\d,]+ of 1[34]\d,\d{3}, \d+%/);
    expect(out).toMatch(
      /late +\d+ clients became busy later: the first calls are missing, and the others stand for them\n/,
    );
    expect(out).toMatch(/it would have refused about/);
    const told = out.replace(/\s+/g, ' ');
    expect(told).toContain(
      `of all clients and not of a sample: by that, ${asked!.replay!.refusedCalls.toLocaleString('en-US')} calls`,
    );
    expect(told).not.toContain('late lines');
    expect(Math.abs(asked!.whatIf.refusedCalls / asked!.replay!.refusedCalls - 1)).toBeLessThan(0.02);
  });

  test('reads the rest of a log of which a line has an absurd time or cost, and names the line', async () => {
    const log = logOf(['t_ms,client,cost', '0,a,1', '9999999999999999,b,1', '5,b,1e308', '6,b,1']);
    const report = await reportOf(log, { key: 'client', policy: limit });
    expect(report.read).toMatchObject({ read: 2, malformed: 2, firstMalformed: [{ line: 3 }, { line: 4 }] });
    const { out } = await run(log, { key: 'client' });
    expect(out).not.toMatch(/∞|NaN/);
  });

  test('says so where no limit refuses little enough', async () => {
    const log = logOf(['t_ms,client,cost', ...[0, 1, 2, 3].map((atMs) => `${atMs},a,900000000000000`)]);
    const { code, out } = await run(log, { key: 'client', algorithm: 'sliding-log' });
    expect(code).toBe(0);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'No limit does, however large, of sliding-log, in a minute; sliding-log, in an hour.',
    );
    expect(out.replace(/\s+/g, ' ')).toContain('No limit refuses at most 0.1% of the calls');
  });

  test('reads each file in its own format, with its own lines', async () => {
    const files = [
      logOf([...formats.combined!(calls.slice(0, 2000)), 'not combined']),
      logOf([...formats.json!(calls.slice(2000, 3000)), '{"not json']),
      logOf(formats.csv!(calls.slice(3000))),
    ];
    const report = await reportOf(files);
    expect(report.read).toMatchObject({
      read: 4800,
      malformed: 2,
      files: [
        { format: 'combined', read: 2000 },
        { format: 'json', read: 1000 },
        { format: 'csv', read: 1800 },
      ],
      firstMalformed: [
        { file: files[0], line: 2001 },
        { file: files[1], line: 1001 },
      ],
    });
    const { out } = await run(files);
    expect(out).toMatch(/and 2 more: 4,803 lines of combined and json and csv, by ip/);
    expect(out).toMatch(/\.log, line 1001 is not an object of JSON/);
  });

  test('names the file that cannot be read', async () => {
    const files = [logOf(formats.json!(calls)), logOf(['roses are red', 'violets are blue'], 'poem.log')];
    const { code, out, error } = await run(files);
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(/poem\.log: The format of the log is not known/);
  });

  test('a file in which nobody has the key is one of several', async () => {
    const nobody = formats.combined!(calls.slice(0, 100).map((call) => ({ ...call, user: '-' })));
    const files = [logOf(nobody), logOf(formats.combined!(calls.slice(100)))];
    expect((await reportOf(files, { key: 'user' })).read).toMatchObject({ read: 4700, withoutKey: 100 });
    expect(await run([files[0]!, logOf(nobody)], { key: 'user' })).toMatchObject({
      code: 2,
      error: expect.stringContaining('No line of the log has the key "user"'),
    });
  });

  test('goes on with what is left of a gzip that was cut off, and says so', async () => {
    const packed = gzipSync(formats.json!(calls).join('\n'));
    const file = join(folder, 'cut.gz');
    writeFileSync(file, packed.subarray(0, packed.length >> 1));
    const { code, out, error } = await run(file);
    expect(code).toBe(0);
    expect(error).toMatch(/cut\.gz is gzipped and was cut off: what is left of it was read, \d\.\d MB unpacked\.\n$/);
    expect(out).toMatch(/cut off {2}\S*cut\.gz, gzipped/);
    expect(out).toMatch(/calls {4}[12],\d{3}\n/);
  });

  test('finds limits where a larger one refuses more: costs that fit just so', async () => {
    const at = (minute: number, second: number) => new Date(startMs + minute * 60_000 + second * 1000).toISOString();
    const alone = Array.from({ length: 10 }, (_, i) => `${at(5 * i, 0)},u,200`);
    const groups = Array.from({ length: 10 }, (_, i) =>
      [201, 1.5, 1.5].map((cost, second) => `${at(50 + 5 * i, second)},u,${cost}`),
    );
    const log = logOf(['time,user,cost', ...alone, ...groups.flat()]);
    const { limits } = await reportOf(log, { key: 'user', refuse: '30%' });
    for (const { refusedCallRatio } of limits.rows) expect(refusedCallRatio).toBeLessThanOrEqual(0.3);
  });

  test('keeps costs of one second apart', async () => {
    const at = new Date(startMs).toISOString().replace('.000', '');
    const log = logOf(['time,user,cost', ...[1, 1, 97, 1].map((cost) => `${at},u,${cost}`)]);
    const { asked } = await reportOf(log, {
      key: 'user',
      policy: '{"algorithm":"sliding-log","limit":20,"window":"1m"}',
    });
    expect(asked!.whatIf).toMatchObject({ refusedCalls: 1, refusedCost: 97 });
  });

  test('counts IPv6 by the networks of the configuration, and gives a rule that does', async () => {
    const config = join(folder, 'subnet.yaml');
    writeFileSync(
      config,
      'ipv6Subnet: 64\nrules: [{ name: per-ip, key: ip, algorithm: gcra, limit: 2, window: 1m }]\n',
    );
    const neighbours = Array.from({ length: 10 }, (_, i) => ({ atMs: i * 1000, ip: `2001:db8:0:${i}::1` }));
    const log = logOf(formats.json!(neighbours));
    expect((await reportOf(log)).trace.clients).toBe(1);
    const asked = await reportOf(log, { config });
    expect(asked.trace.clients).toBe(10);
    expect(readConfig({ text: asked.yaml })).toMatchObject({ config: { ipv6Subnet: 64 } });
    expect((await reportOf(log, { config, ipv6Subnet: 48 })).trace.clients).toBe(1);
    expect((await run(log, { ipv6Subnet: 64 })).out).toContain('\nipv6Subnet: 64\nrules:\n');
  });

  test('gives a rule of what was measured: costs, and the field of the route', async () => {
    const lines = calls.map(({ atMs, ip }, i) => `${startMs + atMs},${ip},op-${i % 3},${100 + (i % 7)}`);
    const log = logOf(['time,ip,operation,tokens', ...lines]);
    const { code, out } = await run(log, { yaml: true, key: 'ip+route', route: 'operation', cost: 'tokens' });
    expect(code).toBe(0);
    expect(out).toContain('    key: [ip, operation]\n');
    expect(out).toContain('# A limit of tokens, not of calls: each check must bring its cost.');
    expect(out).toMatch(/[\d,]+ of tokens/);
    expect(readConfig({ text: out })).not.toHaveProperty('problems');
  });

  test('speaks of one line as of one', async () => {
    const { out } = await run(logOf(formats.combined!(calls.slice(0, 1))));
    expect(out).toContain(': 1 line of combined, by ip\n');
    expect(await run(logOf(['# nothing']))).toMatchObject({
      error: expect.stringContaining('has 1 line and not one call'),
    });
  });

  test('tells what it could not read, and what came late', async () => {
    const lines = formats.combined!(calls);
    const late = [...lines.slice(0, 500), 'not a line of a log', ...lines.slice(560, 700), ...lines.slice(500, 560)];
    const { out } = await run(logOf(late));
    expect(out).toContain('malformed 1 line, the first:\n    line 501 has no');
    expect(out).toContain('not a line of a log');
    expect(out).toMatch(/order {4}\d+ lines came late, by up to/);
  });

  test('reports in 100 columns, and hands a terminal nothing to act on', async () => {
    const evil = '/\u001b[2J\u001b]0;gone\u0007/'.repeat(4);
    const names = Array.from({ length: 90 }, (_, i) => ({
      time: startMs + i,
      ip: '203.0.113.9',
      key: `\u001b[31m${'name'.repeat(60)}\u202e`,
      method: 'GET',
      path: evil,
      status: 200,
    }));
    const log = logOf([...names.map((line) => JSON.stringify(line)), `{"bad \u001b[2J`, ...formats.json!(calls)]);
    const { code, out } = await run(log, { policy: '{"algorithm":"gcra","limit":5,"window":"1m"}', key: 'key+ip' });
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(out).toContain('\\x1b[31mname');
    expect(out).toContain('\\x1b[2J');
  });

  test('looks for limits of a share of the clients, over given windows, by given algorithms', async () => {
    const options = { window: '10s,1m', refuse: '2%', of: 'clients', algorithm: 'gcra,sliding-log' };
    const { limits, advice } = await reportOf(logOf(formats.json!(calls)), options);
    expect(limits.refuse).toEqual({ share: 0.02, of: 'clients' });
    expect(limits.rows.map(({ algorithm, windowMs }) => `${algorithm} ${windowMs}`)).toEqual([
      'sliding-log 10000',
      'gcra 10000',
      'gcra 10000',
      'sliding-log 60000',
      'gcra 60000',
      'gcra 60000',
    ]);
    for (const { refusedClientRatio } of limits.rows) expect(refusedClientRatio).toBeLessThanOrEqual(0.02);
    // One of fifty people calls twice in some ten seconds, or seven times in some minute, and only the robot more.
    expect(limits.rows.find(({ windowMs }) => windowMs === 60_000)!.limit).toBeLessThanOrEqual(7);
    expect(advice.policy.window).toBe(10_000);
  });

  test('asks about a rule of a configuration, and reads the log by its key', async () => {
    const config = join(folder, 'sluice.yaml');
    writeFileSync(
      config,
      `rules:
  - { name: per-user, key: user, algorithm: gcra, limit: 100, window: 1m, match: { path: /login } }
  - { name: tiered, key: ip, algorithm: gcra, tiers: { free: { limit: 30, window: 1m } } }
`,
    );
    const log = logOf(formats.json!(calls));
    const byUser = await reportOf(log, { config, rule: 'per-user' });
    expect([byUser.key, byUser.trace.clients]).toEqual(['user', 11]);
    expect(byUser.asked!.whatIf.policy).toMatchObject({ limit: 100, window: 60_000 });
    expect(byUser.asked!.notes.join()).toContain('match or a skip');
    const tiered = await reportOf(log, { config, rule: 'tiered', tier: 'free' });
    expect(tiered.asked!.whatIf.policy).toMatchObject({ limit: 30 });
    for (const [options, message] of [
      [{ config }, '--rule must name one of the rules in'],
      [{ config, rule: 'per-ip' }, 'There is no rule "per-ip" in'],
      [{ config, rule: 'tiered' }, 'The rule tiered has only tiers. Name one with --tier: free.'],
      [{ config, rule: 'tiered', tier: 'gold' }, 'has no tier "gold". It has free.'],
      [{ config: join(folder, 'missing.yaml') }, 'missing.yaml'],
      [{ rule: 'per-ip' }, '--rule per-ip needs --config'],
      [{ tier: 'free' }, '--tier belongs to --config and --rule'],
      [{ config, policy: limit }, 'give one'],
      [
        { tier: 'free', policy: limit },
        '--tier belongs to a rule of --config, and --policy is none: give one of the two.',
      ],
    ] as const) {
      const { code, out, error } = await run(log, options);
      expect([code, out]).toEqual([2, '']);
      expect(error).toContain(message);
    }
  });

  test('fits a log into little memory, and says so', async () => {
    const many = Array.from({ length: 70_000 }, (_, i) => ({
      atMs: i * 8,
      ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    }));
    const { code, out } = await run(logOf(formats.combined!(many)), { maxMemory: '64MB', algorithm: 'fixed-window' });
    expect(code).toBe(0);
    expect(out).toMatch(/clients {2}(about )?[67]\d,\d{3}/);
    expect(out).toMatch(/thinned {2}of clients with less than/);
  });

  it.each([
    [{ policy: 'gcra' }, "--policy must be JSON such as '{"],
    [{ policy: '{"algorithm":"gcra","limit":0,"window":"1m"}' }, '--policy: limit must be a number above 0, got 0.'],
    [{ policy: '{"algorithm":"concurrency","limit":5}' }, 'policy.algorithm must be one that limits a rate'],
    [{ key: 'tenant' }, 'tenant'],
    [
      { window: '1 minute' },
      '--window must be a time above 0 with its unit, such as 250ms, 10s, 1m, 1h, 1d or 1w, got "1 minute"',
    ],
    [{ refuse: '120%' }, '--refuse must be a part of all such as 0.1%'],
    [{ of: 'bytes' }, '--of must be calls or clients, got "bytes".'],
    [{ algorithm: 'magic' }, 'algorithms must be some of'],
    [{ maxMemory: '1 byte' }, '--max-memory must be from 64MB to 64GB'],
    [{ format: 'csv' }, 'no field with a time'],
    [{ json: true, yaml: true }, '--yaml and --json are two ways to print: give one.'],
  ] as const)('refuses %o with a sentence', async (options, message) => {
    const { code, out, error } = await run(logOf(formats.combined!(calls.slice(0, 50))), options as never);
    expect([code, out]).toEqual([2, '']);
    expect(error).toContain(message);
    expect(error.trimEnd().split('\n').length).toBeLessThan(4);
  });

  test('a log that is missing, empty, or no log is told as such', async () => {
    const missing = await run(join(folder, 'missing.log'));
    expect([missing.code, missing.out]).toEqual([2, '']);
    expect(missing.error).toContain('missing.log');
    expect(await run(logOf([]))).toMatchObject({
      code: 2,
      error: expect.stringContaining('is empty: there is nothing to tune by'),
    });
    expect(await run(logOf(['# nothing', '', '# but comments']))).toMatchObject({
      code: 2,
      error: expect.stringContaining('has 3 lines and not one call'),
    });
    const prose = await run(logOf(['It was a dark and stormy night;', 'the rain fell in torrents.']));
    expect(prose.code).toBe(2);
    expect(prose.error).not.toBe('');
  });
});
