// What a reader types against a running service: `curl`, `redis-cli` and `sluice` lines are run, with the ports of a service that
// was started for the block.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SluiceService, startSluice } from '@sluice/test-servers';
import { root, runCommand } from './repository.ts';

const typed = /^(curl|redis-cli|redis-benchmark|sluice (check|validate|--help|--version))\b/;

/** The commands of a block, each on one line, without comments that stand alone. */
export function commandsOf(code: string): string[] {
  return code
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** What a line may be followed by: a part of what it prints. */
export function promiseOf(command: string): { command: string; promised: string | undefined } {
  const [, bare = command, promised] = /^(.*?)\s+# → (.*)$/.exec(command) ?? [];
  return { command: bare.replace(/\s+#\s.*$/, ''), promised: promised?.trim() };
}

export function isTyped(command: string): boolean {
  return typed.test(command);
}

/** Starts the service that the block speaks of, runs its lines, and says what went wrong. */
export async function runSession(code: string, folder: string): Promise<string[]> {
  const commands = commandsOf(code);
  const lines = commands.filter(isTyped);
  if (lines.length === 0) return [];
  const config = /sluice serve .*--config (\S+)/.exec(code)?.[1];
  const service = await startSluice({ args: config ? ['--config', join(root, config)] : [] });
  try {
    const path = `${programs(folder)}:${process.env.PATH}`;
    return lines.flatMap((line) => problemsOf(line, service, path));
  } finally {
    await service.stop();
  }
}

/** A folder with the command as it is named after installation. */
function programs(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const file = join(bin, 'sluice');
  writeFileSync(
    file,
    `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'packages/server/program/main.js')}" "$@"\n`,
  );
  chmodSync(file, 0o755);
  return bin;
}

function problemsOf(line: string, { httpPort, respPort, url }: SluiceService, path: string): string[] {
  const { command, promised } = promiseOf(line);
  const here = command
    .replace(/(localhost|127\.0\.0\.1):8080/g, `127.0.0.1:${httpPort}`)
    .replace(/-p 6380\b/g, `-p ${respPort}`)
    .replace(/^sluice check (?!.*--(policy|config))/, `sluice check --url ${url} `);
  const { status, output } = runCommand('env', [`PATH=${path}`, 'timeout', '20', 'bash', '-c', here], root);
  // A check that is refused ends with 1, and is no mistake of the page.
  const isFine = status === 0 || (status === 1 && here.startsWith('sluice check'));
  if (!isFine) return [`${line}: ended with ${status}: ${output}`];
  if (promised === undefined || output.includes(promised)) return [];
  return [`${line}: printed ${output}`];
}
