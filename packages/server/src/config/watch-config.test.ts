// Real files, real events. No test waits for time to pass: each waits for what must happen, and what must not happen is seen in the
// order of what does.
import { createHook } from 'node:async_hooks';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from './read-config.ts';
import { type ConfigWatch, type WatchConfigOptions, watchConfig } from './watch-config.ts';
import { contentOf } from './watched-content.ts';

let folder: string;
let file: string;
let watch: ConfigWatch | undefined;
/** What happened, in order: `changed: <workers in the file>`, or `same` for a look that found nothing new. */
let seen: string[];
let onSeen: () => void;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watch-config-'));
  file = join(folder, 'sluice.yaml');
  seen = [];
  onSeen = () => undefined;
});
afterEach(async () => {
  await watch?.close();
  watch = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function see(what: string): void {
  seen.push(what);
  onSeen();
}

/** Ready to hear; what is seen before does not count. */
async function start(options: Partial<WatchConfigOptions> = {}): Promise<void> {
  watch = watchConfig({
    paths: [file],
    quietMs: 10,
    everyMs: 0,
    onChange() {
      const read = readConfig({ path: file });
      see(`changed: ${'config' in read ? read.config.workers : 'wrong'}`);
    },
    log: {
      debug: () => see('same'),
      info: () => undefined,
      warn: (_, message) => see(message),
      error: (_, message) => see(message),
    },
    ...options,
  });
  await watch.ready;
  seen.length = 0;
}

async function until(what: string): Promise<void> {
  while (!seen.includes(what)) {
    await new Promise<void>((resolve) => {
      onSeen = resolve;
    });
  }
}

const changes = () => seen.filter((what) => what !== 'same');
/** The same for a file that is written in place, which somebody who looks at the wrong moment finds empty. */
const wholeChanges = () => [...new Set(changes().filter((what) => what !== 'changed: wrong'))];

/** Nobody ever finds the file empty. */
function replace(text: string): void {
  writeFileSync(join(folder, '.new'), text);
  renameSync(join(folder, '.new'), file);
}

test('a write in place is a change', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  writeFileSync(file, 'workers: 2');
  await until('changed: 2');
  writeFileSync(file, 'workers: 3');
  await until('changed: 3');
  expect(wholeChanges()).toEqual(['changed: 2', 'changed: 3']);
});

test('a file put in the place of the old one is a change, and so is the next', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  for (const workers of [2, 3, 4]) {
    replace(`workers: ${workers}`);
    await until(`changed: ${workers}`);
  }
  expect(changes()).toEqual(['changed: 2', 'changed: 3', 'changed: 4']);
});

test('a change between the reading and the watch is a change', async () => {
  writeFileSync(file, 'workers: 1');
  const read = readConfig({ path: file });
  if ('problems' in read) throw new Error('it is right');
  replace('workers: 2');
  const changed: unknown[] = [];
  await start({
    paths: read.watched,
    content: read.watchedContent,
    onChange: () => void changed.push(readConfig({ path: file })),
  });
  expect(changed).toMatchObject([{ config: { workers: 2 } }]);
});

test('what was read is no change, whichever files it was', async () => {
  mkdirSync(join(folder, 'limits'));
  writeFileSync(join(folder, 'limits', 'a.yaml'), 'domain: a');
  writeFileSync(join(folder, 'tokens'), 'secret');
  writeFileSync(file, 'security: { tokenFile: tokens }\nenvoy: { directory: limits }\n');
  const read = readConfig({ path: file });
  if ('problems' in read) throw new Error('it is right');
  expect(read.watchedContent).toBe(await contentOf(read.watched));
  const changed: unknown[] = [];
  await start({ paths: read.watched, content: read.watchedContent, onChange: () => void changed.push('changed') });
  expect(changed).toEqual([]);
});

test('other files are followed from then on, with what has changed since they were read', async () => {
  const other = join(folder, 'other.yaml');
  writeFileSync(file, 'workers: 1');
  writeFileSync(other, 'old');
  const content = await contentOf([file, other]);
  await start({
    onChange() {
      see('changed');
      // As a reload does that finds another file named.
      watch?.follow({ paths: [file, other], content });
    },
  });
  replace('workers: 2');
  await until('changed');
  seen.length = 0;
  // `content` is that of before: the first change is known as soon as it follows.
  await until('changed');
  seen.length = 0;
  writeFileSync(other, 'new');
  await until('changed');
});

/** As Kubernetes does: the files are in a new folder, and a link that leads to the folder is swapped. */
function mountVersion(at: string, version: string, files: Record<string, string>): void {
  mkdirSync(join(at, `..${version}`));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at, `..${version}`, name), text);
  symlinkSync(`..${version}`, join(at, '..data_tmp'));
  renameSync(join(at, '..data_tmp'), join(at, '..data'));
}

test('a swapped ..data link, as Kubernetes swaps it, is a change, and so is the next', async () => {
  mountVersion(folder, '2026_1', { 'sluice.yaml': 'workers: 1' });
  symlinkSync('..data/sluice.yaml', file);
  await start();
  for (const workers of [2, 3, 4]) {
    mountVersion(folder, `2026_${workers}`, { 'sluice.yaml': `workers: ${workers}` });
    rmSync(join(folder, `..2026_${workers - 1}`), { recursive: true });
    await until(`changed: ${workers}`);
  }
  expect(changes()).toEqual(['changed: 2', 'changed: 3', 'changed: 4']);
});

test('a swap to the same content is none', async () => {
  mountVersion(folder, '2026_1', { 'sluice.yaml': 'workers: 1' });
  symlinkSync('..data/sluice.yaml', file);
  await start();
  mountVersion(folder, '2026_2', { 'sluice.yaml': 'workers: 1' });
  await until('same');
  mountVersion(folder, '2026_3', { 'sluice.yaml': 'workers: 3' });
  await until('changed: 3');
  expect(changes()).toEqual(['changed: 3']);
});

test('touching a file, or writing what stands there already, is no change', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  utimesSync(file, 1, 1);
  await until('same');
  seen.length = 0;
  replace('workers: 1');
  await until('same');
  expect(changes()).toEqual([]);
});

test('a file that goes and comes back is told both times, and is wrong in between', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  rmSync(file);
  await until('changed: wrong');
  writeFileSync(file, 'workers: 2');
  await until('changed: 2');
  expect(changes().at(-1)).toBe('changed: 2');
});

test('a file that is half written is read again when it is whole', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  writeFileSync(file, 'workers: 2\nlogs: { level: ');
  await until('changed: wrong');
  appendFileSync(file, 'warn }');
  await until('changed: 2');
  expect(changes().at(-1)).toBe('changed: 2');
});

test('a file that an editor has only emptied so far is wrong, not a configuration without rules', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  writeFileSync(file, '');
  await until('changed: wrong');
});

test('a burst of writes is one change', async () => {
  writeFileSync(file, 'workers: 1');
  await start({ quietMs: 200 });
  for (let workers = 2; workers <= 50; workers++) writeFileSync(file, `workers: ${workers}`);
  await until('changed: 50');
  expect(wholeChanges()).toEqual(['changed: 50']);
});

test('a file that is written to all the time is looked at all the same', async () => {
  writeFileSync(file, 'workers: 1');
  await start({ quietMs: 50 });
  let workers = 1;
  const writing = setInterval(() => writeFileSync(file, `workers: ${(workers++ % 1000) + 1}`), 5);
  try {
    while (changes().length < 2) {
      await new Promise<void>((resolve) => {
        onSeen = resolve;
      });
    }
  } finally {
    clearInterval(writing);
  }
});

test('other files of the folder are not looked at', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  writeFileSync(join(folder, 'other.yaml'), 'workers: 5');
  writeFileSync(file, 'workers: 2');
  await until('changed: 2');
  expect(wholeChanges()).toEqual(['changed: 2']);
});

test('what is written beside it, such as an access log, costs no look at the disk', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  let requests = 0;
  const counting = createHook({
    init(_id, type) {
      if (type.startsWith('FSREQ')) requests += 1;
    },
  });
  counting.enable();
  for (let i = 0; i < 200; i += 1) {
    appendFileSync(join(folder, 'access.log'), 'a line\n');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  counting.disable();
  expect(requests).toBe(0);
});

test('a file that a link leads to is watched where it is', async () => {
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(join(folder, 'elsewhere/own.yaml'), 'workers: 1');
  symlinkSync('elsewhere/own.yaml', file);
  await start();
  writeFileSync(join(folder, 'elsewhere/own.yaml'), 'workers: 2');
  await until('changed: 2');
});

test('without events the files are looked at every so often', async () => {
  mkdirSync(join(folder, 'elsewhere'));
  mkdirSync(join(folder, 'elsewhere/a'));
  mkdirSync(join(folder, 'elsewhere/b'));
  writeFileSync(join(folder, 'elsewhere/a/sluice.yaml'), 'workers: 1');
  writeFileSync(join(folder, 'elsewhere/b/sluice.yaml'), 'workers: 2');
  symlinkSync('a', join(folder, 'elsewhere/current'));
  mkdirSync(join(folder, 'etc'));
  file = join(folder, 'etc/sluice.yaml');
  symlinkSync('../elsewhere/current/sluice.yaml', file);
  await start({ everyMs: 20 });
  // A link in the middle of the way is swapped: nothing happens in the folder that is watched.
  symlinkSync('b', join(folder, 'elsewhere/next'));
  renameSync(join(folder, 'elsewhere/next'), join(folder, 'elsewhere/current'));
  await until('changed: 2');
});

describe('a folder of Envoy files', () => {
  let limits: string;
  beforeEach(() => {
    limits = join(folder, 'limits');
    mkdirSync(limits);
    writeFileSync(file, 'workers: 1');
  });
  const changed = () => see('changed');

  test('a file that is new, changed, in a folder of its own, or gone is a change', async () => {
    await start({ paths: [file, limits], onChange: changed });
    const steps = [
      () => writeFileSync(join(limits, 'a.yaml'), '1'),
      () => writeFileSync(join(limits, 'a.yaml'), '2'),
      () => mkdirSync(join(limits, 'more')),
      () => writeFileSync(join(limits, 'more/b.yml'), '1'),
      () => rmSync(join(limits, 'a.yaml')),
    ];
    for (const [i, step] of steps.entries()) {
      seen.length = 0;
      step();
      // A folder without files says nothing.
      await until(i === 2 ? 'same' : 'changed');
    }
  });

  test('a swapped ..data link is a change', async () => {
    mountVersion(limits, '1', { 'a.yaml': '1' });
    symlinkSync('..data/a.yaml', join(limits, 'a.yaml'));
    await start({ paths: [file, limits], onChange: changed });
    mountVersion(limits, '2', { 'a.yaml': '2' });
    await until('changed');
  });
});

test('a change that comes while the last one is handled waits for its turn', async () => {
  writeFileSync(file, 'workers: 1');
  let release: () => void = () => undefined;
  let inside = 0;
  await start({
    async onChange() {
      inside += 1;
      see(`begins ${inside}`);
      if (seen.filter((what) => what.startsWith('begins')).length === 1) {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      inside -= 1;
      see('ends');
    },
  });
  replace('workers: 2');
  await until('begins 1');
  replace('workers: 3');
  release();
  await until('ends');
  while (changes().length < 4) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(changes()).toEqual(['begins 1', 'ends', 'begins 1', 'ends']);
});

test('a change that cannot be handled is logged, and the next is told', async () => {
  writeFileSync(file, 'workers: 1');
  let calls = 0;
  await start({
    onChange() {
      calls += 1;
      if (calls === 1) throw new Error('no');
      see(`call ${calls}`);
    },
  });
  writeFileSync(file, 'workers: 2');
  await until('a change of the configuration could not be handled');
  writeFileSync(file, 'workers: 3');
  await until('call 2');
});

test('nothing is told after it was closed', async () => {
  writeFileSync(file, 'workers: 1');
  await start();
  writeFileSync(file, 'workers: 2');
  await watch?.close();
  const seenAtClose = [...seen];
  writeFileSync(file, 'workers: 3');
  const second = watchConfig({ paths: [file], quietMs: 1, everyMs: 0, onChange: () => see('second'), log: noLog });
  await second.ready;
  writeFileSync(file, 'workers: 4');
  await until('second');
  await second.close();
  expect(seen.filter((what) => what !== 'second')).toEqual(seenAtClose);
});

const nothing = () => undefined;
const noLog = { debug: nothing, info: nothing, warn: nothing, error: nothing };

test('without a path there is nothing to watch', async () => {
  const none = watchConfig({ paths: [], onChange: nothing, log: noLog });
  await none.ready;
  await none.close();
});
