/** What the guide shows is what the command says. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tune } from './tune.ts';

const guide = readFileSync(new URL('../../../../docs/guides/tuning.md', import.meta.url), 'utf8');
const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text!);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tune-guide-'));
  writeFileSync(join(folder, 'write-log.mjs'), blocksOf('js')[0]!);
  execFileSync(process.execPath, ['write-log.mjs'], { cwd: folder });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** How fast it was read is another matter on every machine. */
const withoutSpeed = (text: string) => text.replace(/^ {2}read .*$/m, '').trim();

it('the report in the guide is the report of the log in the guide', async () => {
  const [, policy] = /^`sluice tune access\.log --policy '(.*?)'` says/m.exec(guide)!;
  let said = '';
  const write = (text: string) => {
    said += text;
  };
  const code = await tune(
    { logs: [join(folder, 'access.log')], policy: policy! },
    { environment: {}, stdout: { write }, stderr: { write } },
  );
  expect(code).toBe(0);
  const shown = blocksOf('text').find((text) => text.startsWith('access.log:'))!;
  expect(withoutSpeed(said.replace(`${folder}/`, ''))).toBe(withoutSpeed(shown));
});
