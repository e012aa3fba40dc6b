import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configSchema } from '../config/schema.ts';
import { type ValidateOptions, validate, validateCommand } from './validate.ts';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'validate-'));
  const rule = '{ name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m, burst: 20 }';
  writeFileSync(at('good.yaml'), `rules:\n  - ${rule}\nsecurity: { token: hunter2 }\nworkers: 2\n`);
  writeFileSync(at('bad.yaml'), 'rules:\n  - name: a\n    algorithm: gcra\n    limit: 0\n    window: 1m\nworker: 2\n');
  mkdirSync(at('envoy'));
  writeFileSync(
    at('envoy/api.yaml'),
    'domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n',
  );
  mkdirSync(at('bad-envoy'));
  writeFileSync(at('bad-envoy/api.yaml'), 'domain: api\ndescriptors:\n  - kee: user\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(options: ValidateOptions, environment: Record<string, string> = {}) {
  let stdout = '';
  let stderr = '';
  const exitCode = validate(options, {
    environment,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  // The name of the folder differs from run to run.
  const plain = (text: string) => text.replaceAll(folder, '');
  return { exitCode, stdout: plain(stdout), stderr: plain(stderr) };
}

test('a valid file ends with 0 and is told in words', () => {
  expect(run({ file: at('good.yaml') })).toEqual({
    exitCode: 0,
    stdout: `/good.yaml is valid.

Rules
  per-ip: 100 per minute, 20 at once, by gcra, for each ip
Doors
  HTTP  127.0.0.1:8080
  gRPC  127.0.0.1:8081
  RESP  127.0.0.1:6380
  no TLS, clients need the token
Store: memory, at most 1,000,000 keys
Workers: 2
`,
    stderr: '',
  });
});

test('a wrong file ends with 2, and every problem is told with its line', () => {
  expect(run({ file: at('bad.yaml') })).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: `/bad.yaml:4:12  rules[0].limit must be a number above 0, got 0. To refuse somebody always, use deny.
    4 |     limit: 0
      |            ^
/bad.yaml:6:1  worker is not a field. Did you mean workers?
    6 | worker: 2
      | ^

2 problems in /bad.yaml.
`,
  });
});

test('as JSON, problems have their place, and a valid file its rules and settings without secrets', () => {
  const bad = run({ file: at('bad.yaml'), json: true });
  expect(bad.exitCode).toBe(2);
  expect(JSON.parse(bad.stdout)).toMatchObject({
    isValid: false,
    problems: [
      { file: '/bad.yaml', line: 4, column: 12, path: 'rules[0].limit' },
      { file: '/bad.yaml', line: 6, column: 1, path: 'worker' },
    ],
  });
  const good = run({ file: at('good.yaml'), json: true });
  expect(good.exitCode).toBe(0);
  expect(JSON.parse(good.stdout)).toMatchObject({
    isValid: true,
    rules: [{ name: 'per-ip', limit: 100, window: '1m' }],
    settings: { workers: 2, 'security.tokens': ['(hidden)'] },
  });
  expect(good.stdout).not.toContain('hunter2');
});

test('an Envoy folder is read too, alone or beside a file', () => {
  const alone = run({ envoyConfig: at('envoy') });
  expect(alone.exitCode).toBe(0);
  expect(alone.stdout).toContain('/envoy is valid.');
  expect(alone.stdout).toContain('api.user: unit=MINUTE requests_per_unit=5');
  const beside = run({ file: at('good.yaml'), envoyConfig: at('envoy'), json: true });
  expect(JSON.parse(beside.stdout)).toMatchObject({
    settings: { 'envoy.directory': '/envoy' },
    envoyLimits: [{ domain: 'api', policy: { limit: 5, window: 60_000 } }],
  });
});

test('problems of Envoy files have their file and line, beside those of the configuration', () => {
  const { exitCode, stderr } = run({ file: at('bad.yaml'), envoyConfig: at('bad-envoy') });
  expect(exitCode).toBe(2);
  expect(stderr).toContain('/bad.yaml:4:12  rules[0].limit must be');
  expect(stderr).toMatch(/^\/bad-envoy\/api\.yaml:3:5 .*kee/m);
  expect(stderr).toContain('    3 |   - kee: user');
  expect(stderr).toMatch(/^3 problems in \/bad\.yaml and \/bad-envoy\/api\.yaml\.$/m);
});

test('sums problems up by the files that have them', () => {
  const last = (stderr: string) => stderr.trimEnd().split('\n').at(-1);
  expect(last(run({ file: at('good.yaml'), envoyConfig: at('bad-envoy') }).stderr)).toBe(
    'One problem in /bad-envoy/api.yaml.',
  );
  expect(last(run({ file: at('good.yaml') }, { SLUICE_WORKER: '1' }).stderr)).toBe('One problem in the environment.');
});

test("a limit of Envoy's has its algorithm behind it, where it is another", () => {
  mkdirSync(at('own'));
  const limit = (more: string) => `rate_limit: { unit: minute, requests_per_unit: 100${more} }`;
  writeFileSync(
    at('own/api.yaml'),
    `domain: api
descriptors:
  - { key: plain, ${limit('')} }
  - { key: bucket, ${limit(', algorithm: gcra, burst: 20')} }
  - { key: slots, ${limit(', algorithm: sliding-slots, slots: 6')} }
  - { key: free, rate_limit: { unlimited: true } }
`,
  );
  const { stdout } = run({ envoyConfig: at('own') });
  const modes = 'shadow_mode: false, quota_mode: false';
  expect(stdout).toContain(`Envoy
  api.plain: unit=MINUTE requests_per_unit=100, ${modes}
  api.bucket: unit=MINUTE requests_per_unit=100, ${modes}, algorithm: gcra, burst: 20
  api.slots: unit=MINUTE requests_per_unit=100, ${modes}, algorithm: sliding-slots, slots: 6
  api.free: unit=UNKNOWN requests_per_unit=0, ${modes}
`);
});

test('a file or folder that is not there ends with 2 and says so', () => {
  const { exitCode, stderr } = run({ file: at('nowhere.yaml') });
  expect([exitCode, stderr]).toEqual([
    2,
    '/nowhere.yaml  The file cannot be read: it does not exist.\n\nOne problem in /nowhere.yaml.\n',
  ]);
  expect(run({ envoyConfig: at('nowhere') })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('command line  envoy.directory must be a folder that can be read, got /nowhere'),
  });
});

test('the environment counts, and may name the file', () => {
  expect(run({}, { SLUICE_CONFIG: at('good.yaml') }).exitCode).toBe(0);
  const { exitCode, stderr } = run({ file: at('good.yaml') }, { SLUICE_WORKER: '1' });
  expect([exitCode, stderr.split('\n')[0]]).toEqual([
    2,
    'environment  SLUICE_WORKER is not a setting. Did you mean SLUICE_WORKERS?',
  ]);
});

test('the schema is printed for editors', () => {
  const { exitCode, stdout } = run({ schema: true });
  expect([exitCode, JSON.parse(stdout)]).toEqual([0, configSchema]);
});

test('the command takes a file, or --config, and sets the exit code', async () => {
  const before = process.exitCode;
  const write = process.stdout.write;
  try {
    process.stdout.write = () => true;
    for (const line of [
      [at('bad.yaml'), '--json'],
      ['--config', at('bad.yaml'), '--json'],
    ]) {
      process.exitCode = 0;
      await validateCommand().parseAsync(line, { from: 'user' });
      expect(process.exitCode).toBe(2);
    }
  } finally {
    process.stdout.write = write;
    process.exitCode = before;
  }
  const help = validateCommand().helpInformation();
  for (const flag of ['[file]', '--envoy-config', '--json', '--schema']) expect(help).toContain(flag);
});

test('a file and --config are two files, of which one would not be looked at', async () => {
  const { write } = process.stderr;
  const before = process.exitCode;
  let said = '';
  process.stderr.write = (text) => {
    said += text;
    return true;
  };
  try {
    await validateCommand().parseAsync([at('good.yaml'), '--config', at('bad.yaml')], { from: 'user' });
    expect(process.exitCode).toBe(2);
  } finally {
    process.stderr.write = write;
    process.exitCode = before;
  }
  expect(said.replaceAll(folder, '')).toBe('--config is the same as [file]: give /good.yaml or --config /bad.yaml.\n');
});
