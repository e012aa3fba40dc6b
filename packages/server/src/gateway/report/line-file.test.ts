/** On real files, real pipes and a real full disk. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterAll, expect, it } from 'vitest';
import { LineFile } from './line-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'line-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

const errors: string[] = [];
const onError = (error: unknown) => errors.push((error as NodeJS.ErrnoException).code ?? String(error));
const fresh = (name: string, options = {}) => {
  errors.length = 0;
  const path = join(folder, name);
  return { path, file: new LineFile(path, onError, options) };
};
const lines = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1);

it('has all lines in their order, those of many writes and those that waited at the end', async () => {
  const { path, file } = fresh('many');
  const expected = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
  for (const [i, line] of expected.entries()) {
    file.write(`${line}\n`);
    if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await file.close();
  expect(lines(path)).toEqual(expected);
  expect([file.dropped, errors]).toEqual([0, []]);
});

it('adds to what the file has', async () => {
  for (const line of ['a\n', 'b\n']) {
    const { file } = fresh('added');
    file.write(line);
    await file.close();
  }
  expect(lines(join(folder, 'added'))).toEqual(['a', 'b']);
});

it('loses no line, and writes none twice, while it is moved away again and again', async () => {
  const { path, file } = fresh('moved');
  for (let i = 0; i < 5000; i += 1) {
    file.write(`line ${i}\n`);
    if (i % 100 !== 0) continue;
    renameSync(path, `${path}.${i}`);
    file.reopen();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await file.close();
  const all = [...Array.from({ length: 50 }, (_, i) => `${path}.${i * 100}`), path].flatMap(lines);
  expect(all.map((line) => Number(line.slice(5))).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 5000 }, (_, i) => i),
  );
});

it('goes on in the old file where the new one cannot be opened', async () => {
  mkdirSync(join(folder, 'logs'));
  const { file } = fresh('logs/access.log');
  renameSync(join(folder, 'logs'), join(folder, 'rotated'));
  expect(() => file.reopen()).toThrow('ENOENT');
  file.write('still here\n');
  await file.close();
  expect([lines(join(folder, 'rotated/access.log')), errors]).toEqual([['still here'], []]);
});

it.skipIf(!existsSync('/dev/full'))('a full disk loses lines, and keeps nobody from ending', async () => {
  errors.length = 0;
  const file = new LineFile('/dev/full', onError);
  for (let i = 0; i < 3; i += 1) file.write('lost\n');
  await file.close();
  file.write('too late\n');
  expect([file.dropped, errors]).toEqual([4, ['ENOSPC']]);
});

it('waits for a pipe whose reader is slow, drops what is too much, and ends without it', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { file } = fresh('pipe', { longestCloseMs: 20 });
  const line = `${'x'.repeat(1023)}\n`;
  for (let i = 0; i < 20_000; i += 1) file.write(line);
  expect(file.dropped).toBeGreaterThan(10_000);
  let read = 0;
  const buffer = Buffer.alloc(65_536);
  // More than the pipe itself holds.
  await waitUntil('what waited comes when it is read', () => {
    try {
      read += readSync(reader, buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return read > 1024 * 1024;
  });
  await file.close();
  expect(errors).toEqual(['Error: It did not take the last lines within 20 ms.']);
  closeSync(reader);
});

it('says at once that nobody reads a pipe, instead of waiting for somebody', () => {
  const path = join(folder, 'nobody');
  execFileSync('mkfifo', [path]);
  expect(() => new LineFile(path, onError)).toThrow('ENXIO');
});
