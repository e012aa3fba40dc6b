import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TestClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { type LogOptions, serviceLog } from './log.ts';
import { occasionalLog } from './occasional-log.ts';

function logged(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = serviceLog({ level: 'info', to: { write: (line) => lines.push(line) }, isTerminal: false, ...options });
  return { log, lines, objects: () => lines.map((line) => JSON.parse(line)) };
}

describe('JSON lines', () => {
  test('one object per line, with level, time, fields and message', () => {
    const { log, lines, objects } = logged({ fields: { thread: 2 } });
    log.info({ door: 'http', port: 8080 }, 'listening\nreally');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{[^\n]*\}\n$/);
    expect(objects()[0]).toMatchObject({ level: 30, thread: 2, door: 'http', port: 8080, msg: 'listening\nreally' });
    expect(objects()[0].time).toBeTypeOf('number');
  });

  test('the level changes while it runs', () => {
    const { log, objects } = logged();
    log.debug({}, 'one');
    log.level = 'debug';
    log.debug({}, 'two');
    log.level = 'silent';
    log.error({}, 'three');
    expect(objects().map(({ msg }) => msg)).toEqual(['two']);
    expect(log.level).toBe('silent');
  });

  test('an error comes with its code, its stack and its cause', () => {
    const { log, objects } = logged();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    log.error({ err: new TypeError('no store', { cause }) }, 'failed');
    const { err } = objects()[0];
    expect(err).toMatchObject({
      type: 'TypeError',
      message: 'no store',
      cause: { code: 'ECONNREFUSED', message: 'refused' },
    });
    expect(err.stack).toContain('log.test.ts');
  });

  test('fields without end are cut', () => {
    const { log, lines } = logged();
    const endless: Record<string, unknown> = { text: 'x'.repeat(100_000), list: Array(5000).fill(1) };
    endless.self = endless;
    log.info(endless, 'm'.repeat(100_000));
    expect(lines[0]!.length).toBeLessThan(100_000);
    expect(lines[0]).toContain('[deeper]');
  });

  test('what JSON cannot say does not throw', () => {
    const { log, objects } = logged();
    log.info({ big: 12n, bytes: Buffer.from('abc'), nothing: undefined, none: null }, 'odd');
    expect(objects()[0]).toMatchObject({ big: '12', bytes: '[3 bytes]', none: null });
  });
});

describe('secrets', () => {
  const secret = 's3cr3t-t0ken"\\';
  const rows: [where: string, fields: object, message?: string][] = [
    ['a field by its name', { token: 'hunter2' }],
    ['a nested header, in any case', { request: { headers: { Authorization: 'Bearer hunter2' } } }],
    ['a list of tokens', { security: { tokens: ['hunter2'] } }],
    ['the password of an address', { url: 'redis://user:hunter2@cache:6379/0' }],
    ['an address without a user', { store: { at: 'rediss://:hunter2@cache' } }],
    ['the message of an error', { err: new Error('cannot reach redis://:hunter2@cache') }],
    ['the cause of an error', { err: new Error('no', { cause: new Error('redis://a:hunter2@b failed') }) }],
    ['the message itself', {}, 'connecting to redis://a:hunter2@b'],
    ['a header in a text', { line: 'authorization: Bearer hunter2' }],
    ['a known secret under an innocent name', { note: `got ${secret}!` }],
    ['a known secret in the message', {}, `got ${secret}!`],
    ['a known secret in an error', { err: new Error(`bad token ${secret}`) }],
  ];
  test.each(rows)('%s', (_, fields, message = 'said') => {
    for (const isTerminal of [false, true]) {
      const { log, lines } = logged({ secrets: [secret], isTerminal });
      log.info(fields, message);
      expect(lines.join('')).not.toContain('hunter2');
      expect(lines.join('')).not.toContain('s3cr3t');
      expect(lines.join('')).toContain('[hidden]');
    }
  });

  test('learned later are hidden from then on, and the old ones stay so', () => {
    const { log, lines } = logged({ secrets: ['first-token'] });
    log.hide(['second-token']);
    log.info({ a: 'first-token', b: 'second-token' }, 'both');
    expect(lines[0]).not.toMatch(/first|second/);
  });

  test('innocent text stays as it is', () => {
    const { log, objects } = logged();
    const fields = { url: 'http://127.0.0.1:8080/v1/check?x=a@b', mail: 'ops@example.com', keyBytes: 5 };
    log.info(fields, 'listening on redis://127.0.0.1:6380');
    expect(objects()[0]).toMatchObject({ ...fields, msg: 'listening on redis://127.0.0.1:6380' });
  });
});

describe('lines for a terminal', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
  const withoutColours = (line: string) => line.replace(/\x1b\[\d+m/g, '');

  test('time, level, message, fields', () => {
    const { log, lines } = logged({ isTerminal: true });
    log.warn({ file: 'sluice.yaml', why: 'two words', count: 3 }, 'not taken');
    expect(withoutColours(lines[0]!)).toMatch(
      /^\d\d:\d\d:\d\d WARN {2}not taken {2}file=sluice\.yaml {2}why="two words" {2}count=3\n$/,
    );
  });

  test('an error is shown with its stack, on lines of its own', () => {
    const { log, lines } = logged({ isTerminal: true });
    log.error({ err: new RangeError('too far') }, 'failed');
    expect(withoutColours(lines[0]!)).toMatch(/ERROR failed\n {4}RangeError: too far\n {8}at /);
  });

  test('what a client sent cannot move the cursor', () => {
    const { log, lines } = logged({ isTerminal: true });
    log.info({ key: '\x1b[2J' }, 'cleared \x1b[2J');
    expect(withoutColours(lines[0]!)).not.toContain('\x1b');
  });
});

test('everything that was logged is on standard output when the process ends', () => {
  const program = `
    import { serviceLog } from ${JSON.stringify(fileURLToPath(new URL('../../dist/operations/log.js', import.meta.url)))};
    const log = serviceLog({ level: 'info' });
    for (let i = 0; i < 2000; i += 1) log.info({ i }, 'line');
    log.flush();
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 2000 }, (_, i) => i));
});

test('an occasional log writes a few lines per period and says how many it left out', () => {
  const clock = new TestClock(0);
  const { log, objects } = logged();
  const occasional = occasionalLog(log, { most: 2, everyMs: 1000, clock });
  for (let i = 0; i < 100; i += 1) occasional.warn({ i }, 'again');
  clock.advance(1000);
  occasional.info({ i: 100 }, 'again');
  occasional.info({ i: 101 }, 'again');
  expect(objects().map(({ i, leftOut }) => [i, leftOut])).toEqual([
    [0, undefined],
    [1, undefined],
    [100, 98],
    [101, undefined],
  ]);
});
