/**
 * A small log on a disk, the same calls in every format: forty people with five calls each, and one client with three hundred in a minute.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface LoggedCall {
  readonly atMs: number;
  readonly ip: string;
  readonly user: string;
}

export const startMs = Date.UTC(2026, 2, 1, 10);
export const scraper = '203.0.113.66';

export function loggedCalls(): LoggedCall[] {
  const people = Array.from({ length: 200 }, (_, i) => ({
    atMs: startMs + i * 3000,
    ip: `198.51.100.${1 + (i % 40)}`,
    user: `person-${1 + (i % 40)}`,
  }));
  const scraped = Array.from({ length: 300 }, (_, i) => ({
    atMs: startMs + 120_000 + i * 200,
    ip: scraper,
    user: 'scraper',
  }));
  return [...people, ...scraped].sort((a, b) => a.atMs - b.atMs);
}

export const textOf: Readonly<Record<'combined' | 'json' | 'csv', (calls: readonly LoggedCall[]) => string>> = {
  combined: (calls) =>
    calls
      .map(({ atMs, ip, user }) => `${ip} - ${user} [${clfTime(atMs)}] "GET /items HTTP/1.1" 200 512 "-" "curl/8"\n`)
      .join(''),
  json: (calls) =>
    calls
      .map(({ atMs, ip, user }) => `${JSON.stringify({ time: new Date(atMs).toISOString(), ip, user, status: 200 })}\n`)
      .join(''),
  csv: (calls) => `time,ip,user,status\n${calls.map(({ atMs, ip, user }) => `${atMs},${ip},${user},200\n`).join('')}`,
};

const months = ['Jan', 'Feb', 'Mar'];

function clfTime(atMs: number): string {
  const text = new Date(atMs).toISOString();
  return `${text.slice(8, 10)}/${months[Number(text.slice(5, 7)) - 1]}/${text.slice(0, 4)}:${text.slice(11, 19)} +0000`;
}

export interface LogFolder {
  /** The path of a new file. */
  write(name: string, content: string | Buffer): string;
  remove(): void;
}

export function logFolder(): LogFolder {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-logs-'));
  return {
    write(name, content) {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Some seconds of work for a reader: millions of lines that are a few kilobytes while they are packed. */
export function longLog(): Buffer {
  const line = Buffer.from(textOf.combined(loggedCalls().slice(0, 1)));
  return gzipSync(Buffer.alloc(line.length * 3_000_000, line), { level: 1 });
}
