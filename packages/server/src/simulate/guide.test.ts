/** What the guide shows can be typed, and does what it says. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { simulateCommand } from '../commands/simulate.ts';

const guide = readFileSync(new URL('../../../../docs/guides/simulating.md', import.meta.url), 'utf8');
const [scenario] = [...guide.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text]) => text!);
const lines = [...guide.matchAll(/^sluice simulate (.*)$/gm)].map(([, line]) => line!);

let folder: string;
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
  folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-guide-'));
  writeFileSync(join(folder, 'api.yaml'), scenario!);
  writeFileSync(join(folder, 'wrong.yaml'), scenario!.replace('rate: 20/s', 'rate: fast'));
});
afterAll(async () => {
  await redis?.stop();
  rmSync(folder, { recursive: true });
});

/** Whoever reads the guide has its files in the folder where they type, and a Redis. */
async function typed(line: string): Promise<{ exitCode: typeof process.exitCode; said: string }> {
  const words = line
    .replace('127.0.0.1:6379', `127.0.0.1:${redis.port}`)
    .split(' ')
    .map((word) => (/^\w+\.\w+$/.test(word) ? join(folder, word) : word));
  const { exitCode: before, stdout, stderr } = process;
  const writes = [stdout.write, stderr.write] as const;
  let said = '';
  try {
    stdout.write = stderr.write = (text: unknown) => {
      said += String(text);
      return true;
    };
    await simulateCommand().parseAsync(words, { from: 'user' });
    return { exitCode: process.exitCode, said: said.replaceAll(`${folder}/`, '') };
  } finally {
    [stdout.write, stderr.write] = writes;
    process.exitCode = before;
  }
}

// All of them are run where they lie.
it.each(lines.filter((line) => line !== '--all'))('sluice simulate %s works, and its claims hold', async (line) => {
  expect(await typed(line)).toMatchObject({ exitCode: 0, said: expect.stringMatching(/.+/) });
});

it('the mistake that the guide shows is told as it says', async () => {
  const shown = /^api\.yaml:\d.*?(?=^```)/ms.exec(guide)?.[0].trim();
  const { exitCode, said } = await typed('wrong.yaml');
  expect(exitCode).toBe(2);
  expect(said.replace('wrong.yaml', 'api.yaml')).toContain(shown);
});

it('the guide has commands, a scenario and a mistake', () => {
  expect(lines).toContain('api.yaml');
  expect(lines.length).toBeGreaterThan(4);
});
