/**
 * The access log: a line for each request, written together and later, so that no request waits for the disk. What the disk cannot take
 * is dropped and counted, rather than to fill the memory.
 */
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { destination } from 'pino';
import type { AccessLogConfig } from '../../config/gateway-config.ts';
import type { Log } from '../../service/log.ts';
import type { Passage } from '../passage.ts';
import { combinedLine, entryOf, jsonLine } from './access-line.ts';

export interface AccessLog {
  readonly config: AccessLogConfig;
  /** Lines that were dropped. */
  readonly dropped: number;
  write(passage: Passage, durationMs: number): void;
  /** Opens the file anew: the old one was moved away (logrotate). */
  reopen(): void;
  /** Writes what is still waiting. */
  close(): Promise<void>;
}

// Written when so much is there, or so much time has passed.
const togetherBytes = 8 * 1024;
const everyMs = 500;
const mostWaitingBytes = 8 * 1024 * 1024;

/** Throws where the file cannot be opened. */
export function openAccessLog(config: AccessLogConfig, log: Log): AccessLog {
  const isOutput = config.path === '-';
  // Tried now: the stream would tell of a path that cannot be written to only later.
  if (!isOutput) closeSync(openSync(config.path, 'a'));
  const stream = destination({
    dest: isOutput ? 1 : config.path,
    append: true,
    sync: false,
    minLength: togetherBytes,
    maxLength: mostWaitingBytes,
    periodicFlush: everyMs,
  });
  const lineOf = config.format === 'json' ? jsonLine : combinedLine;
  let dropped = 0;
  stream.on('drop', () => {
    dropped += 1;
  });
  stream.on('error', (error: Error) =>
    log.error({ err: error, path: config.path }, 'the access log cannot be written'),
  );
  return {
    config,
    get dropped() {
      return dropped;
    },
    write(passage, durationMs) {
      stream.write(lineOf(entryOf(passage, durationMs)));
    },
    reopen() {
      if (!isOutput) stream.reopen();
    },
    async close() {
      const closed = once(stream, 'close');
      stream.end();
      await closed;
    },
  };
}
