/** The command: in this process with streams of its own, and as users call it, the built program. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScenarioResult } from '@sluice/simulator';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programs } from '../programs.ts';
import { readyFolder, readyScenarios } from '../simulate/ready-scenarios.ts';
import { type SimulateOptions, simulate } from '../simulate/simulate.ts';
import { edge } from './simulate.test-support.ts';
import { simulateCommand } from './simulate.ts';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-test-'));
  mkdirSync(at('ready'));
  for (const name of ['edge.yaml', 'ready/edge.yaml']) writeFileSync(at(name), edge);
  writeFileSync(at('ready/broken-promise.yaml'), edge.replace('worstWindow == 20', 'worstWindow == 21'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Millions of calls: nobody waits for its end. */
const endless = `name: Long
about: Millions of calls.
duration: 1d
traffic:
  - { shape: steady, rate: 400/s }
limit: { algorithm: gcra, limit: 10, window: 1s }
`;

function helpAfter(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help;
}

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly environment?: Record<string, string>;
  /** Hears what is said on stderr. */
  readonly heard?: (text: string) => void;
  /** Where the ready ones are. */
  readonly scenarios?: string;
}

async function run(
  options: SimulateOptions,
  { isTTY = false, columns, signal, environment = {}, heard, scenarios = at('ready') }: Terminal = {},
) {
  let stdout = '';
  let stderr = '';
  const exitCode = await simulate(options, {
    environment,
    scenarios,
    signal,
    stdout: { isTTY, columns, write: (text: string) => (stdout += text) },
    stderr: {
      isTTY,
      columns,
      write(text: string) {
        stderr += text;
        heard?.(text);
      },
    },
  });
  // The name of the folder differs from run to run.
  const plain = (text: string) => text.replaceAll(folder, '');
  return { exitCode, stdout: plain(stdout), stderr: plain(stderr) };
}

describe('sluice simulate', () => {
  it('prints a page, and ends with 0 when every claim holds', async () => {
    const { exitCode, stdout, stderr } = await run({ target: at('edge.yaml') });
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^The edge of a window\nTen calls on each side/);
    expect(stdout).toContain('2 s simulated, 20 arrivals, seed 1');
    expect(stdout).toMatch(/^worst window +20 +10$|^fixed-window .* 20 /m);
    expect(stdout).toMatch(/^ {2}✓ sliding-log\.worstWindow == 10 {2}measured 10$/m);
  });

  it('ends with 1 when a claim does not hold, and says what was measured', async () => {
    const { exitCode, stdout } = await run({ target: 'broken-promise' });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}✗ fixed-window\.worstWindow == 21 {2}measured 20$/m);
  });

  it('gives the same result for the same seed, another for another, and takes the length from the command line', async () => {
    const poisson = edge.replace('shape: burst, count: 10, at: 1s', 'shape: poisson, rate: 20/s');
    writeFileSync(at('chance.yaml'), poisson);
    const result = async (options: SimulateOptions) =>
      JSON.parse((await run({ target: at('chance.yaml'), json: true, ...options })).stdout) as ScenarioResult;
    const first = await result({ seed: 7 });
    expect(await result({ seed: 7 })).toEqual(first);
    expect(await result({ seed: 8 })).not.toEqual(first);
    expect(await result({ duration: '1m' })).toMatchObject({ durationMs: 60_000, seed: 1 });
  });

  it('replays a log that lies beside the scenario', async () => {
    const line = (second: number) =>
      `192.0.2.1 - - [16/Nov/2026:10:00:0${second} +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n`;
    writeFileSync(at('access.log'), [1, 1, 1, 2].map(line).join(''));
    writeFileSync(
      at('replay.yaml'),
      `name: Again
duration: 10s
traffic: [{ shape: replay, log: access.log }]
limit: { algorithm: sliding-log, limit: 2, window: 1s }
expect: [refused == 1, allowed == 3]
`,
    );
    expect(await run({ target: at('replay.yaml') })).toMatchObject({ exitCode: 0, stderr: '' });
    writeFileSync(at('access.log'), [1, 1, 1, 2].map(line).join('roses are \u001b[31mred\n'));
    expect(await run({ target: at('replay.yaml'), json: true })).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(
        /^\/access\.log: 3 lines could not be read and are left out\. Line 2 .*: roses are \\x1b\[31mred\n$/,
      ),
    });
  });

  it('writes a picture beside the page, and says where', async () => {
    const { exitCode, stderr } = await run({ target: 'edge', svg: at('edge.svg'), json: true });
    expect([exitCode, stderr]).toEqual([0, 'The picture is in /edge.svg.\n']);
    expect(readFileSync(at('edge.svg'), 'utf8')).toMatch(
      /^<svg .*<title id="sluice-title">The edge of a window<\/title>/s,
    );
  });

  it('is as wide as the terminal, at most, and coloured only where that is wanted', async () => {
    const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
    const piped = await run({ target: 'edge' });
    expect(widest(piped.stdout)).toBeLessThanOrEqual(100);
    expect(widest((await run({ target: 'edge', columns: 50 })).stdout)).toBeLessThanOrEqual(50);
    const silent = await run({ target: 'edge' }, { isTTY: true, columns: 64, environment: { NO_COLOR: '1' } });
    expect(widest(silent.stdout)).toBeLessThanOrEqual(64);
    expect(silent.stdout).not.toContain('\u001b');
    expect((await run({ target: 'edge' }, { isTTY: true, columns: 64 })).stdout).toContain('\u001b[32m');
  });

  it('lists what is ready, a line each', async () => {
    expect(
      (await run({ list: true })).stdout,
    ).toBe(`broken-promise  Ten calls on each side of a boundary, and ten are allowed.
edge            Ten calls on each side of a boundary, and ten are allowed.
`);
    const { stdout } = await run({ list: true, json: true });
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'broken-promise' }, { name: 'edge', file: '/ready/edge.yaml' }]);
  });

  it('knows a ready one by the beginning of its name, where only one begins so', async () => {
    expect(await run({ target: 'broken' })).toMatchObject({ exitCode: 1, stderr: '' });
    writeFileSync(at('ready/edges.yaml'), edge);
    try {
      expect(await run({ target: 'edge' })).toMatchObject({ exitCode: 0 });
      expect((await run({ target: 'edg' })).stderr).toBe(
        'There is no file and no ready scenario "edg". So begin:\n  edge\n  edges\n',
      );
    } finally {
      rmSync(at('ready/edges.yaml'));
    }
  });

  it('runs all that is ready, and says which claims hold', async () => {
    const { exitCode, stdout } = await run({ all: true });
    expect([exitCode, stdout]).toEqual([
      1,
      `✗ broken-promise  1 of 2 claims
  ✗ fixed-window.worstWindow == 21  measured 20
✓ edge            2 claims

2 scenarios: 1 of 4 claims do not hold.
`,
    ]);
    const json = await run({ all: true, json: true });
    expect(JSON.parse(json.stdout)).toMatchObject([{ expectations: [{ isMet: false }, { isMet: true }] }, {}]);
  });

  it('shows how far a long run is, and leaves nothing behind when it is interrupted', async () => {
    writeFileSync(at('endless.yaml'), endless);
    const interrupt = new AbortController();
    const heard = (text: string) => text.includes('%') && interrupt.abort();
    const ended = await run(
      { target: at('endless.yaml') },
      { isTTY: true, columns: 60, signal: interrupt.signal, heard },
    );
    expect(ended).toMatchObject({ exitCode: 130, stdout: '' });
    expect(ended.stderr.split('\r\u001b[2K')).toEqual(['', expect.stringMatching(/^simulating [━─]+ +\d+ %$/), '']);
  });
});

describe('sluice simulate, of mistakes', () => {
  const rows: readonly (readonly [what: string, from: string, to: string, told: string])[] = [
    [
      'a rate that is none',
      '{ shape: burst, count: 10, at: 999ms }',
      '{ shape: steady, rate: fast }',
      `/wrong.yaml:5:28  traffic[0].rate must be a rate above 0 such as 50/s, 600/m or 3/10s, got "fast".
    5 |   - { shape: steady, rate: fast }
      |                            ^

One problem in /wrong.yaml.
`,
    ],
    ['a field that is none', 'duration: 2s', 'duration: 2s\ntrafic: []', `/wrong.yaml:4:1  trafic is no field here.`],
    ['a claim about nothing', 'sliding-log.worstWindow == 10', 'sliding-log.best == 1', `/wrong.yaml:12:5  expect[1]`],
    ['a field that is missing', 'duration: 2s\n', '', '/wrong.yaml:1:1  duration'],
    [
      'YAML that is none',
      '{ shape: burst, count: 10, at: 999ms }',
      '{ shape: burst, count: 10',
      `/wrong.yaml:6:3  A bracket is opened and not closed before this line.
    6 |   - { shape: burst, count: 10, at: 1s }`,
    ],
    [
      'an operation that does not fit',
      'expect:',
      'operations:\n  - { do: peek }\n  - { do: release }\nexpect:',
      '/wrong.yaml:12:5  operations[1]: release must have a limit of algorithm concurrency.',
    ],
    [
      'a log that is not there',
      'shape: burst, count: 10, at: 1s',
      'shape: replay, log: a.log',
      '/wrong.yaml:6:27  traffic[1].log: There is no file /a.log.',
    ],
  ];

  it.each(rows)('%s ends with 2 and is told with its line', async (_what, from, to, told) => {
    expect(edge).toContain(from);
    writeFileSync(at('wrong.yaml'), edge.replace(from, to));
    const { exitCode, stdout, stderr } = await run({ target: at('wrong.yaml') });
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(told);
    const json = await run({ target: at('wrong.yaml'), json: true });
    expect(json.exitCode).toBe(2);
    const { isValid, problems } = JSON.parse(json.stdout);
    expect([isValid, problems[0].file]).toEqual([false, '/wrong.yaml']);
  });

  it('a list, or nothing, is no scenario', async () => {
    for (const [text, got] of [
      ['- a\n', 'a list'],
      ['# nothing\n', 'nothing'],
    ]) {
      writeFileSync(at('wrong.yaml'), text!);
      expect((await run({ target: at('wrong.yaml') })).stderr).toContain(
        `/wrong.yaml:1:1  The file must be a map with a name, a duration and traffic, got ${got}.`,
      );
    }
  });

  it('what the command line says wrong is told of the command line', async () => {
    expect(await run({ target: at('edge.yaml'), duration: '9999d' })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^command line {2}duration must be at most/),
    });
  });

  it.each([
    [
      'limit: { algorithm: concurrency, limit: 3 }',
      'cost must be a whole number for the concurrency algorithm, got 0.5.',
    ],
    [
      'service: 1s\nschedule: { kind: fair }\nlimit: { algorithm: concurrency, limit: 3 }',
      'cost must be a whole number for the concurrency algorithm, got 0.5.',
    ],
  ])('what the library finds wrong only in the run is told in a sentence: %j', async (stages, told) => {
    const [head] = edge.split('compare:');
    writeFileSync(at('half.yaml'), `${head!.replace('at: 999ms', 'at: 999ms, cost: 0.5')}${stages}\n`);
    expect(await run({ target: at('half.yaml') })).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `The scenario cannot be run: ${told}\n`,
    });
  });

  it('a name that is none ends with 2, and the nearest is named', async () => {
    expect(await run({ target: 'egde' })).toMatchObject({
      exitCode: 2,
      stderr: 'There is no file and no ready scenario "egde". Did you mean edge?\n',
    });
    expect((await run({ target: 'brokn-prom' })).stderr).toContain('Did you mean broken-promise?');
    expect((await run({ target: 'something-else' })).stderr).toContain('"sluice simulate --list" shows what there is.');
    expect((await run({ target: at('nowhere.yaml') })).stderr).toContain('The file cannot be read: it does not exist.');
  });

  it.each([
    [{}, 'Name one scenario'],
    [{ target: 'edge', all: true }, 'Name one scenario'],
    [{ all: true, svg: 'all.svg' }, '--svg is a picture of one scenario'],
    [{ list: true, redis: 'foo' }, '--redis is where scenarios are run'],
  ] as const)('%j ends with 2', async (options, told) => {
    expect(await run(options)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(told) });
  });

  it.each([
    [['--seed', 'luck'], 'It must be a whole number from 0'],
    [
      ['--duration', 'long'],
      'It must be a time above 0 with its unit, such as 250ms, 10s, 1m, 1h, 1d or 1w, got "long"',
    ],
    [['--columns', '10'], 'It must be a whole number from 40 to 400.'],
  ])('%j is told as a slip of the command line', async (args, told) => {
    const command = simulateCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    await expect(command.parseAsync(['edge', ...args], { from: 'user' })).rejects.toThrow(told);
  });

  it('a picture that cannot be written ends with 2, and says why before anything is run', async () => {
    writeFileSync(at('endless.yaml'), endless);
    const terminal = { isTTY: true, columns: 80 };
    expect(await run({ target: at('endless.yaml'), svg: at('nowhere/edge.svg') }, terminal)).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: '--svg must name a file that can be written, got /nowhere/edge.svg: it does not exist.\n',
    });
    expect(await run({ target: 'edge', svg: folder })).toMatchObject({
      exitCode: 2,
      stderr: '--svg must name a file that can be written, got : it is a folder.\n',
    });
  });

  // A device that takes nothing: only the writing finds that out.
  it.runIf(process.platform === 'linux')('a picture that fails to be written takes nothing from the page', async () => {
    const { exitCode, stdout, stderr } = await run({ target: 'edge', svg: '/dev/full' });
    expect(exitCode).toBe(2);
    expect(stdout).toContain('✓ sliding-log.worstWindow == 10');
    expect(stderr).toMatch(/^--svg must name a file that can be written, got \/dev\/full: .*no space/);
  });

  it('what a terminal would act on is shown, and not acted on', async () => {
    const nasty = `name: "a\\e[31mb"
about: "clear\\e[2J \\u202Eit"
duration: 2s
service: 10ms
traffic: [{ shape: burst, count: 3, at: 0s, key: "k\\e[2J" }]
schedule: priority
servers: { count: 1, joins: { "B\\e[2J": 1s } }
balance: round-robin
expect: ["starts == \\"\\e[5m\\""]
`;
    writeFileSync(at('nasty.yaml'), nasty);
    const page = await run({ target: at('nasty.yaml') });
    expect(page.exitCode).toBe(1);
    expect(page.stdout).toMatch(/^a\\x1b\[31mb\nclear\\x1b\[2J \\u\{202e\}it\n/);
    expect(page.stdout).toContain(String.raw`starts == "\x1b[5m"`);
    expect(page.stdout).toContain(String.raw`k\x1b[2J`);
    writeFileSync(at('nasty.yaml'), `${nasty}"fo\\e[2Jo": 1\nbar\u001b[31m: 2\n`);
    const refused = await run({ target: at('nasty.yaml') });
    expect(refused.stderr).toContain(String.raw`bar\x1b[31m`);
    mkdirSync(at('nasty'));
    writeFileSync(at('nasty/one.yaml'), nasty);
    const all = await run({ all: true }, { scenarios: at('nasty') });
    const list = await run({ list: true }, { scenarios: at('nasty') });
    const said = [page, refused, all, list].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(said).not.toMatch(/[^\P{C}\n]/u);
  });
});

describe('sluice simulate, the program', () => {
  it('names ready scenarios in its help that there are', async () => {
    const help = helpAfter(simulateCommand());
    const named = [...help.matchAll(/^ {2}sluice simulate ([a-z-]+)(?: |$)/gm)].map(([, name]) => name!);
    const ready = readyScenarios(readyFolder()).map(({ name }) => name);
    expect(named.length).toBeGreaterThan(1);
    for (const name of named.filter((each) => !each.startsWith('-')))
      expect(
        ready.filter((each) => each.startsWith(name)),
        name,
      ).toHaveLength(1);
  });

  const called = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, [programs.main, 'simulate', ...args], (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  it('runs a file, and a ready one by the beginning of its name', async () => {
    const { code, stdout, stderr } = await called(at('edge.yaml'), '--columns', '80');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('✓ fixed-window.worstWindow == 20');
    expect(await called('fixed-window-passes')).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends with 2 when it is called with what it does not know', async () => {
    const { code, stderr } = await called(at('edge.yaml'), '--sgv', 'a.svg');
    expect(stderr).toContain("unknown option '--sgv'");
    expect(code).toBe(2);
  });

  it('ends with 130 when it is interrupted', async () => {
    // Whoever can write into a pipe knows that somebody is reading: by then the program listens to signals.
    execFileSync('mkfifo', [at('pipe.yaml')]);
    const child = spawn(process.execPath, [programs.main, 'simulate', at('pipe.yaml')], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await writeFile(at('pipe.yaml'), endless);
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
  });
});
