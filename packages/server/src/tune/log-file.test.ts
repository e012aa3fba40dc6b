import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReadLogOptions, readLog } from './log-file.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-log-file-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** Of each file. */
async function textsOf(paths: readonly string[], options: ReadLogOptions = {}): Promise<string[]> {
  const chunks = paths.map((): Uint8Array[] => []);
  await readLog(paths, (chunk, place) => chunks[place]!.push(Buffer.from(chunk)), options);
  return chunks.map((each) => Buffer.concat(each).toString());
}

async function textOf(paths: readonly string[], options: ReadLogOptions = {}): Promise<string> {
  return (await textsOf(paths, options)).join('');
}

const long = Array.from({ length: 50_000 }, (_, i) => `line ${i} of a log that does not fit into one chunk\n`).join('');

describe('reading files', () => {
  it('reads a file as it is', async () => {
    expect(await textOf([await file('plain.log', long)])).toBe(long);
  });

  it('reads several, and says which one a chunk is of', async () => {
    const paths = [
      await file('a.log', 'a 1\na 2'),
      await file('b.log', ''),
      await file('c.log', 'c 1\n'),
      await file('d.log', 'd 1'),
    ];
    expect(await textsOf(paths)).toEqual(['a 1\na 2', '', 'c 1\n', 'd 1']);
  });

  it('knows gzip by its bytes, whatever the name', async () => {
    const paths = [await file('packed.log', gzipSync('packed\n')), await file('plain.gz', 'plain\n')];
    expect(await textOf(paths)).toBe('packed\nplain\n');
  });

  it('reads all members of a gzip that was put together', async () => {
    const members = Buffer.concat([gzipSync('one\n'), gzipSync(long), gzipSync('three\n')]);
    expect(await textOf([await file('members.gz', members)])).toBe(`one\n${long}three\n`);
  });

  it('reads files shorter than what tells a compression', async () => {
    expect(await textOf([await file('short.log', 'a')])).toBe('a');
    expect(await textOf([await file('empty.log', '')])).toBe('');
  });

  it('says how far it is, in the bytes of the files', async () => {
    const packed = gzipSync(long);
    const paths = [await file('progress.log', long), await file('progress.gz', packed)];
    const seen: [number, number | undefined][] = [];
    await textOf(paths, { onProgress: (...progress) => seen.push(progress) });
    const total = long.length + packed.length;
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.every(([, bytesTotal]) => bytesTotal === total)).toBe(true);
    expect(seen.map(([bytesRead]) => bytesRead)).toEqual(
      [...seen.map(([bytesRead]) => bytesRead)].sort((a, b) => a - b),
    );
    expect(seen.at(-1)?.[0]).toBe(total);
  });
});

describe('reading a pipe', () => {
  async function piped(script: string, options: ReadLogOptions = {}): Promise<string> {
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    return textOf(['-'], { ...options, stdin: child.stdout });
  }

  it('reads what another process writes', async () => {
    const totals: (number | undefined)[] = [];
    const onProgress = (_: number, bytesTotal: number | undefined) => totals.push(bytesTotal);
    expect(await piped(`process.stdout.write('x'.repeat(1e6) + '\\n')`, { onProgress })).toBe(`${'x'.repeat(1e6)}\n`);
    expect(new Set(totals)).toEqual(new Set([undefined]));
  });

  it('knows gzip there too', async () => {
    const script = `process.stdout.write(require('node:zlib').gzipSync('x'.repeat(1e6) + '\\n'))`;
    expect(await piped(script)).toBe(`${'x'.repeat(1e6)}\n`);
  });

  it('knows it when the bytes come one by one', async () => {
    const bytes = [...gzipSync('slowly\n')].map((byte) => Buffer.from([byte]));
    expect(await textOf(['-'], { stdin: Readable.from(bytes) })).toBe('slowly\n');
  });

  it('is one of several', async () => {
    const stdin = Readable.from([Buffer.from('from the pipe')]);
    const paths = [await file('before.log', 'before'), '-', await file('behind.log', 'behind')];
    expect(await textsOf(paths, { stdin })).toEqual(['before', 'from the pipe', 'behind']);
  });

  it('is not read ahead of whoever takes the bytes', async () => {
    let given = 0;
    let taken = 0;
    let mostAhead = 0;
    async function* endless() {
      for (; given < 2000; given += 1) {
        mostAhead = Math.max(mostAhead, given - taken);
        yield Buffer.alloc(1024, 'a');
      }
    }
    const take = (chunk: Uint8Array) => {
      taken += Math.round(chunk.length / 1024);
    };
    await readLog(['-'], take, { stdin: endless() });
    expect(taken).toBe(2000);
    expect(mostAhead).toBeLessThan(4);
  });
});

describe('what cannot be read', () => {
  // biome-ignore format: a row is a file
  const rows: [what: string, paths: () => Promise<string[]>, message: string][] = [
    ['nothing named', async () => [], 'There is no log to read. Name a file'],
    ['a missing file', async () => [join(folder, 'missing.log')], 'There is no file FOLDER/missing.log.'],
    ['a directory', async () => [await directory('logs')], 'FOLDER/logs is a directory. Name the files in it, such as FOLDER/logs/*.log.'],
    ['standard input twice', async () => ['-', '-'], 'Standard input (-) can be read once'],
    ['a gzip that was cut off', async () => [await cutOff('cut.gz')], 'FOLDER/cut.gz is gzipped and ends before its end: it was cut off.'],
    ['a damaged gzip', async () => [await file('damaged.gz', damaged())], 'FOLDER/damaged.gz is gzipped and damaged: '],
    ['a gzip with something else behind it', async () => [await file('mixed.gz', Buffer.concat([gzipSync('a\n'), Buffer.from('192.0.2.1 - -\n')]))], 'FOLDER/mixed.gz is gzipped and damaged: '],
    ['zstd', async () => [await file('a.zst', magic(0x28, 0xb5, 0x2f, 0xfd))], 'FOLDER/a.zst is packed with zstd. Unpack it on the way: zstd -dc FOLDER/a.zst | sluice tune -'],
    ['bzip2', async () => [await file('a.bz2', Buffer.from('BZh91AY&SY'))], 'packed with bzip2. Unpack it on the way: bzip2 -dc FOLDER/a.bz2 | sluice tune -'],
    ['xz', async () => [await file('a.xz', magic(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0))], 'packed with xz'],
    ['zip', async () => [await file('a.zip', magic(0x50, 0x4b, 3, 4))], 'packed with zip'],
  ];
  it.each(rows)('%s: a sentence that names the file and the way out', async (_, pathsOf, message) => {
    const paths = await pathsOf();
    const error = await textOf(paths, { pipeInto: 'sluice tune -' }).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'SluiceError', code: 'invalid-option' });
    expect(error.message.replaceAll(folder, 'FOLDER')).toContain(message);
  });

  it.each([100, 10_000, 50_000])(
    'reads what is there of a gzip of %d lines that was cut off, if it may',
    async (lines) => {
      const text = long.split('\n').slice(0, lines).join('\n');
      const packed = gzipSync(text);
      const path = await file('cut-off.gz', packed.subarray(0, Math.floor(packed.length * 0.9)));
      const heard: unknown[] = [];
      const behind = await file('behind-it.log', 'behind');
      const [read, next] = await textsOf([path, behind], { onCutOff: (...cutOff) => heard.push(cutOff) });
      expect(text.startsWith(read!)).toBe(true);
      // All that the bytes say: a stream of the system's own makes no more of them.
      const most = gunzipSync(packed.subarray(0, Math.floor(packed.length * 0.9)), {
        finishFlush: constants.Z_SYNC_FLUSH,
      });
      expect(read!.length).toBe(most.length);
      expect(read!.length).toBeGreaterThan(0.5 * text.length);
      expect(next).toBe('behind');
      expect(heard).toEqual([[path, read!.length]]);
    },
  );

  it('finds a missing file before it reads the first', async () => {
    let taken = 0;
    const paths = [await file('there.log', 'a\n'), join(folder, 'not-there.log')];
    await expect(readLog(paths, () => (taken += 1))).rejects.toThrow('There is no file');
    expect(taken).toBe(0);
  });

  it('names the pipe where a compression comes from one', async () => {
    const stdin = Readable.from([magic(0x28, 0xb5, 0x2f, 0xfd)]);
    await expect(textOf(['-'], { stdin, pipeInto: 'sluice tune -' })).rejects.toThrow(
      'Standard input is packed with zstd. Unpack it on the way: zstd -dc | sluice tune -',
    );
    expect(stdin.destroyed).toBe(true);
  });

  it.each(['plain', 'gzipped'])('lets through what the taker throws, from a %s file', async (kind) => {
    const path = await file(`taken-${kind}.log`, kind === 'plain' ? long : gzipSync(long));
    const enough = new Error('enough');
    await expect(
      readLog([path], () => {
        throw enough;
      }),
    ).rejects.toBe(enough);
  });

  async function directory(name: string): Promise<string> {
    await mkdir(join(folder, name));
    return join(folder, name);
  }

  async function cutOff(name: string): Promise<string> {
    const packed = gzipSync(long);
    const path = await file(name, packed);
    await truncate(path, packed.length >> 1);
    return path;
  }

  function damaged(): Buffer {
    const packed = gzipSync(long);
    return packed.fill(0xff, 100, 200);
  }

  function magic(...bytes: number[]): Buffer {
    return Buffer.concat([Buffer.from(bytes), Buffer.alloc(32)]);
  }
});
