/** The command as users call it: the built program, its arguments, pipes and exit codes. What it says is tested beside `tune/tune.ts`. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programs } from '../programs.ts';

const longestMs = 60_000;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `$sluice` is the program; `$1` and so on are the arguments. */
function shell(script: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      'sh',
      ['-c', `sluice() { "${process.execPath}" "${programs.main}" "$@"; }; ${script}`, 'sh', ...args],
      { timeout: longestMs, maxBuffer: 1e8 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

let folder: string;
let log: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tune-command-test-'));
  log = join(folder, 'calls.csv');
  const lines = Array.from({ length: 2000 }, (_, i) => `${1_790_000_000_000 + i * 50},user-${i % 7}`);
  writeFileSync(log, ['time,user', ...lines, ''].join('\n'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the command sluice tune', { timeout: longestMs + 10_000 }, () => {
  it('reads a pipe, gzipped or not, as it reads the file', async () => {
    const ruleOf = (ended: Ended) => {
      expect([ended.code, ended.stderr]).toEqual([0, '']);
      return ended.stdout;
    };
    const [file, pipe, gzipped] = await Promise.all([
      shell('sluice tune "$1" --key user --yaml', log),
      shell('cat "$1" | sluice tune - --key user --yaml', log),
      shell('gzip -c "$1" | sluice tune - --key user --yaml', log),
    ]);
    expect(ruleOf(file!)).toContain('name: per-user');
    expect(ruleOf(pipe!)).toBe(file!.stdout);
    expect(ruleOf(gzipped!)).toBe(file!.stdout);
  });

  it('writes a rule that validate accepts', async () => {
    const rule = join(folder, 'sluice.yaml');
    const { code, stdout } = await shell(
      'sluice tune "$1" --key user --yaml > "$2" && sluice validate "$2"',
      log,
      rule,
    );
    expect(code).toBe(0);
    expect(stdout).toContain('is valid');
  });

  it('ends quietly when its reader has had enough', async () => {
    const { code, stdout, stderr } = await shell('sluice tune "$1" --key user | head -n 1', log);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('2,001 lines of csv, by user');
  });

  it.each([
    ['sluice tune', 'missing required argument'],
    ['sluice tune "$1" --top none', 'It must be a whole number from 1 to 1000.'],
    ['sluice tune "$1" --of bytes', 'calls, clients'],
    ['sluice tune "$1" --key tenant', 'tenant'],
    ['sluice tune "$1.missing"', 'calls.csv.missing'],
  ])('ends %s with 2 and a sentence', async (script, message) => {
    const { code, stdout, stderr } = await shell(script, log);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });
});
