import { execFileSync } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { ensureCompiler, ensureDebianPackage, ensureRedis, findOnPath } from './debian-package.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test('the Redis that is found is one that runs', async () => {
  expect(execFileSync(await ensureRedis(), ['--version'], { encoding: 'utf8' })).toMatch(/^Redis server v=\d/);
});

test('the compiler that is found has the headers it needs', async () => {
  const compiler = await ensureCompiler();
  execFileSync(compiler, ['-x', 'c', '-fsyntax-only', '-'], { input: '#include <stdio.h>\n#include <sys/mman.h>\n' });
});

test('SLUICE_REDIS_BIN comes first, and must exist', async () => {
  const chosen = findOnPath('env')!;
  vi.stubEnv('SLUICE_REDIS_BIN', chosen);
  expect(await ensureRedis()).toBe(chosen);
  vi.stubEnv('SLUICE_REDIS_BIN', '/nowhere/redis-server');
  await expect(ensureRedis()).rejects.toThrow('SLUICE_REDIS_BIN must be the path of a redis-server that can be run');
});

test('whoever may not install is told what to install', async () => {
  vi.spyOn(process, 'getuid').mockReturnValue(1000);
  await expect(ensureDebianPackage('no-such-program', ['no-such-package'])).rejects.toThrow(
    'no-such-program is missing. Install it, on Debian with (as root): apt-get install -y --no-install-recommends no-such-package',
  );
});

test('a file that nobody may run is no program', () => {
  vi.stubEnv('PATH', '/etc');
  expect(findOnPath('passwd')).toBeUndefined();
  expect(findOnPath('/etc/passwd')).toBe('/etc/passwd');
});
