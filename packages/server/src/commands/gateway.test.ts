/** `sluice gateway` as a process, as users run it: the built program. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ask, member } from '../gateway/gateway.test-support.ts';
import { programs } from '../programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-command-'));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** What it wrote, both streams. */
  text(): string;
}

function run(...args: string[]): Started {
  const child = spawn(process.execPath, [programs.main, 'gateway', ...args], { cwd: folder });
  children.push(child);
  let text = '';
  child.stdout.on('data', (bytes) => {
    text += bytes;
  });
  child.stderr.on('data', (bytes) => {
    text += bytes;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, text: () => text };
}

/** Where it says that it listens. */
async function listening({ child, text }: Started): Promise<{ url: string; adminUrl: string }> {
  await waitUntil('it listens', () => {
    if (child.exitCode !== null) throw new Error(text());
    return text().includes('"msg":"listening"');
  });
  const line = text()
    .split('\n')
    .find((one) => one.includes('"msg":"listening"'))!;
  const { gateway, admin } = (JSON.parse(line) as { listening: Record<string, string> }).listening;
  return { url: `http://${gateway}`, adminUrl: `http://${admin}` };
}

const free = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];

describe('sluice gateway', () => {
  it('tells a wrong member as it was typed', async () => {
    const started = run(...free, '--upstream', '127.0.0.1:99999');
    expect(await started.ended).toBe(2);
    expect(started.text()).toBe('command line  --upstream must have a port from 1 to 65535, got 99999.\n');
  });

  it('needs no file to send everything to a member', async () => {
    const [one, two] = [await member(), await member()];
    const started = run(...free, '--banner', '--upstream', one.id, two.id);
    const { url, adminUrl } = await listening(started);
    expect([String(one.port), String(two.port)]).toContain((await ask(`${url}/`)).body);
    expect((await ask(`${adminUrl}/metrics`)).body).toContain('sluice_gateway_requests_total{route=');
    expect(started.text()).toContain(`curl -i ${url}/`);
  });

  it('reads the file again on SIGHUP and when it changes, and goes on with the old one where the new one is wrong', async () => {
    const [one, two] = [await member(), await member()];
    const file = join(folder, 'reload.yaml');
    const log = join(folder, 'access.log');
    const write = (id: string) =>
      writeFileSync(
        file,
        `gateway:\n  accessLog: { path: access.log }\n  upstreams: { app: { members: ['${id}'] } }\n`,
      );
    write(one.id);
    const started = run(...free, '--config', file);
    const { url } = await listening(started);
    expect((await ask(url)).body).toBe(String(one.port));
    write(two.id);
    await waitUntil('it has noticed', async () => (await ask(url)).body === String(two.port));
    write('nonsense');
    started.child.kill('SIGHUP');
    await waitUntil('it complains', () => started.text().includes('the old one stays in force'));
    expect((await ask(url)).body).toBe(String(two.port));
    await waitUntil('the log is written', () => readFileSync(log, 'utf8').includes('GET / HTTP/1.1'));
    renameSync(log, `${log}.1`);
    started.child.kill('SIGHUP');
    await waitUntil('it is written anew', async () => {
      await ask(url);
      return readFileSync(log, 'utf8').includes('GET / HTTP/1.1');
    });
  });

  it('answers what is under way when it is told to end, and ends with 0', async () => {
    const held: (() => void)[] = [];
    const one = await member((request, response) => {
      if (request.url === '/held') held.push(() => response.end('done'));
      else response.end();
    });
    const started = run(...free, '--upstream', one.id);
    const { url } = await listening(started);
    const answer = ask(`${url}/held`);
    await waitUntil('it is under way', () => held.length === 1);
    started.child.kill('SIGTERM');
    await waitUntil('nobody else gets in', async () => (await ask(url).catch(() => undefined)) === undefined);
    held[0]!();
    expect((await answer).body).toBe('done');
    expect(await started.ended).toBe(0);
  });

  it.each([
    ['no upstream', [], 'There is no gateway in the configuration.'],
    [
      'a file and an upstream',
      ['--config', 'x.yaml', '--upstream', '127.0.0.1:1'],
      '--upstream is instead of --config',
    ],
    ['a member that is none', ['--upstream', 'nonsense'], 'must be an address such as'],
    ['an option that is none', ['--upstreams', 'x'], 'unknown option'],
    ['a file that is not there', ['--config', 'missing.yaml'], 'cannot be read'],
  ])('ends with 2 for %s', async (_, args, said) => {
    const started = run(...args);
    expect(await started.ended).toBe(2);
    expect(started.text()).toContain(said);
  });

  it('ends with 2 where its port is taken', async () => {
    const [one, other] = [await member(), await member()];
    const started = run('--listen', one.id, '--admin', 'false', '--upstream', other.id);
    expect(await started.ended).toBe(2);
    expect(started.text()).toContain(`Port ${one.port} (gateway.listen) is in use.`);
  });
});
