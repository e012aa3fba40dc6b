import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readLogTraffic } from './read-log-traffic.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const line = (ip: string, second: number) =>
  `${ip} - - [16/Nov/2026:10:00:0${second} +0000] "GET /a HTTP/1.1" 200 17 "-" "curl/8"\n`;
const log = [line('192.0.2.1', 1), line('192.0.2.2', 3), line('192.0.2.1', 2), line('192.0.2.1', 3)].join('');

function written(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const rowsOf = async (file: string) =>
  [...(await readLogTraffic(file)).traffic].map(({ atMs, key, cost }) => `${atMs} ${key} ${cost}`);

test('a log is traffic from 0 on, in the order of time, each caller a key', async () => {
  const rows = await rowsOf(written('access.log', log));
  expect(rows.slice(0, 2)).toEqual(['0 192.0.2.1 1', '1000 192.0.2.1 1']);
  expect(rows.slice(2).sort()).toEqual(['2000 192.0.2.1 1', '2000 192.0.2.2 1']);
});

test('a gzipped one is read too, and going through it again gives the same calls', async () => {
  const { traffic, notes } = await readLogTraffic(written('access.log.gz', gzipSync(log)));
  expect(notes).toEqual([]);
  expect([...traffic]).toHaveLength(4);
  expect([...traffic]).toEqual([...traffic]);
});

test('calls that a log counts with their cost keep it', async () => {
  const rows = await rowsOf(written('calls.csv', 'time,ip,cost\n2026-11-16T10:00:00Z,192.0.2.1,5\n'));
  expect(rows).toEqual(['0 192.0.2.1 5']);
});

test('lines that cannot be read are left out, and told of', async () => {
  const { traffic, notes } = await readLogTraffic(written('mixed.log', `${log}roses are red\n${log}`));
  expect([...traffic]).toHaveLength(8);
  expect(notes).toEqual([
    expect.stringMatching(/mixed\.log: 1 line could not be read and is left out\. Line 5 .*: roses are red$/),
  ]);
});

test('calls without an address are left out, and told of', async () => {
  const rows = ['time,ip', '2026-11-16T10:00:00Z,192.0.2.1', '2026-11-16T10:00:01Z,', '2026-11-16T10:00:02Z,-'];
  const { traffic, notes } = await readLogTraffic(written('nobody.csv', `${rows.join('\n')}\n`));
  expect([...traffic]).toHaveLength(1);
  expect(notes).toEqual([expect.stringMatching(/nobody\.csv: 2 calls have no address, and are left out\.$/)]);
});

test('a log that is packed otherwise has to be unpacked first: there is no pipe to read from', async () => {
  const packed = written('access.log.zst', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0));
  const told = await readLogTraffic(packed).catch(({ message }: Error) => message);
  expect(told).toBe(`${packed} is packed with zstd. Unpack it into a file first, with zstd -dc ${packed}`);
});

test('what is not there, or is no log, is told in a sentence', async () => {
  await expect(readLogTraffic(join(folder, 'nowhere.log'))).rejects.toThrow('nowhere.log');
  await expect(readLogTraffic(written('empty.log', ''))).rejects.toThrow('empty.log has no calls.');
  await expect(readLogTraffic(written('poem.txt', 'roses are red\n'.repeat(40)))).rejects.toThrow(/format/);
});
