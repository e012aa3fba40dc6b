import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gcra, limiter, memoryStore, rules, sharedMemoryStore, slidingLog } from 'sluice';
import { TestClock } from 'sluice/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { removeLeftovers, restoreBytes, restoreMemory, saveBytes, saveMemory } from './snapshot-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-state-'));
afterAll(() => rmSync(folder, { recursive: true }));

const clock = new TestClock(1_700_000_000_000);
const open = () => memoryStore({ clock, keys: 'fingerprint' });
const list = [
  { name: 'per-user', key: 'user', policy: slidingLog({ limit: 3, window: '1h' }) },
  { name: 'per-ip', key: 'ip', policy: gcra({ limit: 10, window: '1h' }) },
];

describe('the state on disk', () => {
  it('brings back what every key had used, over more lines than one', async () => {
    const path = join(folder, 'state');
    const store = open();
    const before = rules(list, { store });
    for (let i = 0; i < 12_000; i += 1) before.check({ user: `u${i % 50}`, ip: `ip${i}` });
    limiter(list[0]!.policy, { store, name: 'per-user' }).block('u1', '1d');
    const overrides = [
      { rule: 'per-user', key: 'u2', override: { limit: 9 }, expiresAtMs: Number.POSITIVE_INFINITY },
      { rule: 'per-user', key: 'u3', override: { limit: 9 }, expiresAtMs: 1_700_000_100_000 },
    ];
    await saveMemory(path, store, { overrides });

    const restored = open();
    expect(await restoreMemory(path, restored)).toEqual({ overrides, names: ['per-user', 'per-ip'] });
    expect(restored.stats().keys).toBe(store.stats().keys);
    const after = rules(list, { store: restored });
    for (const subject of [{ user: 'u0' }, { user: 'u1' }, { ip: 'ip100' }, { user: 'new', ip: 'new' }]) {
      expect(after.check(subject)).toEqual(before.check(subject));
    }
  });

  it('is readable by its owner only, and nothing else is left beside it', async () => {
    const path = join(folder, 'private');
    await saveMemory(path, open());
    await saveMemory(path, open());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.startsWith('private'))).toEqual(['private']);
  });

  it('is whole when it is saved twice at the same time', async () => {
    const path = join(folder, 'twice');
    const stores = [open(), open()];
    for (const [i, store] of stores.entries()) {
      const limits = rules(list, { store });
      for (let key = 0; key < 12_000 * (i + 1); key += 1) limits.check({ ip: `ip${key}` });
    }
    await Promise.all(stores.map((store) => saveMemory(path, store)));
    const restored = open();
    await restoreMemory(path, restored);
    expect(stores.map((store) => store.stats().keys)).toContain(restored.stats().keys);
    expect(readdirSync(folder).filter((name) => name.startsWith('twice'))).toEqual(['twice']);
  });

  it('leaves nothing behind when it cannot be saved', async () => {
    const path = join(folder, 'taken');
    mkdirSync(path);
    await expect(saveMemory(path, open())).rejects.toThrow();
    expect(readdirSync(folder).filter((name) => name.startsWith('taken'))).toEqual(['taken']);
  });

  it('is rid of what processes left that were killed while they wrote it, and of nothing else', async () => {
    const path = join(folder, 'left');
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    const others = [`left.${process.ppid}.ab12.writing`, 'left.writing', 'left.throttle', 'left', 'left2.1.writing'];
    for (const name of [
      ...others,
      `left.${ended}.ab12.writing`,
      `left.${ended}.writing`,
      `left.${process.pid}.writing`,
    ]) {
      writeFileSync(join(folder, name), '');
    }
    await removeLeftovers(path);
    expect(readdirSync(folder).filter((name) => name.startsWith('left'))).toEqual(others.sort());
    await removeLeftovers(join(folder, 'nowhere', 'state'));
  });

  it('starts with nothing where there is no file', async () => {
    expect(await restoreMemory(join(folder, 'absent'), open())).toBeUndefined();
    expect(await restoreBytes(join(folder, 'absent'))).toBeUndefined();
  });

  it.each([
    ['{"format":"other/9"}\n', 'it does not begin with sluice-state/1'],
    ['not json\n', 'holds no state of this version'],
    ['', 'a line is missing'],
    ['{"format":"sluice-state/1","version":1,"seed":[1,2],"overrides":[]}\n[["aa",1]]\n', 'a line is missing'],
    ['{"format":"sluice-state/1","version":1,"seed":[1,2]}\n', 'its overrides are no list'],
  ])('refuses the file %j, and says what to do', async (text, message) => {
    const path = join(folder, 'wrong');
    writeFileSync(path, text);
    const store = open();
    await expect(restoreMemory(path, store)).rejects.toThrow(message);
    expect(store.stats().keys).toBe(0);
  });

  it('refuses a file that was cut off', async () => {
    const path = join(folder, 'cut');
    const store = open();
    const limits = rules(list, { store });
    for (let i = 0; i < 100; i += 1) limits.check({ user: `u${i}` });
    await saveMemory(path, store);
    writeFileSync(path, readFileSync(path).subarray(0, -20));
    await expect(restoreMemory(path, open())).rejects.toThrow('Remove it to start with none');
  });

  it('refuses a file that was cut off at the end of any line', async () => {
    const path = join(folder, 'cut-at-line');
    const store = open();
    const limits = rules(list, { store });
    for (let i = 0; i < 6000; i += 1) limits.check({ user: `u${i % 3000}`, ip: `ip${i}` });
    await saveMemory(path, store);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    // The head; the first name, its table and its keys; the second one, its table and two lines of keys.
    expect(lines).toHaveLength(8);
    for (let count = 1; count < lines.length; count += 1) {
      writeFileSync(path, `${lines.slice(0, count).join('\n')}\n`);
      const restored = open();
      await expect(restoreMemory(path, restored), `${count} lines`).rejects.toThrow(
        `of 7 lines after the first, ${count - 1} are there. Remove it to start with none.`,
      );
      expect(restored.stats().keys).toBe(0);
    }
    // Without its last line end it is whole.
    writeFileSync(path, lines.join('\n'));
    await restoreMemory(path, open());
  });

  it('takes a file from before the number of its lines was written', async () => {
    const path = join(folder, 'older');
    const store = open();
    const before = rules(list, { store });
    before.check({ user: 'ann', ip: 'home' }, { cost: 3 });
    await saveMemory(path, store);
    const [head = '', ...others] = readFileSync(path, 'utf8').split('\n');
    const { lines, ...older } = JSON.parse(head);
    expect(lines).toBe(6);
    writeFileSync(path, [JSON.stringify(older), ...others].join('\n'));
    const restored = open();
    await restoreMemory(path, restored);
    expect(rules(list, { store: restored }).check({ user: 'ann' })).toMatchObject({ allowed: false });
  });

  it('keeps the memory that threads share, packed', async () => {
    const path = join(folder, 'shared');
    const store = sharedMemoryStore({ clock, maxKeys: 10_000 });
    const policy = gcra({ limit: 2, window: '1h' });
    limiter(policy, { store, name: 'n' }).check('ann', 2);
    await saveBytes(path, store.snapshot());
    expect(statSync(path).size).toBeLessThan(store.buffer.byteLength / 10);
    const restored = await restoreBytes(path, clock);
    expect(limiter(policy, { store: restored!, name: 'n' }).check('ann')).toMatchObject({ allowed: false });
    writeFileSync(path, 'nonsense');
    await expect(restoreBytes(path)).rejects.toThrow('holds no state of this version');
    // Its first word tells the versions apart.
    const other = store.snapshot();
    other[0]! -= 1;
    await saveBytes(path, other);
    await expect(restoreBytes(path)).rejects.toThrow(
      `${path} holds no state of this version: what is in it is laid out differently. Remove it to start with none.`,
    );
  });
});
