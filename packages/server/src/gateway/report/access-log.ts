/** The access log: a line for each request, in a file that is written later, so that no request waits for the disk. */
import type { AccessLogConfig } from '../../config/gateway-config.ts';
import { occasionalLog } from '../../operations/occasional-log.ts';
import type { Log } from '../../service/log.ts';
import type { Passage } from '../passage.ts';
import { combinedLine, entryOf, jsonLine } from './access-line.ts';
import { LineFile } from './line-file.ts';

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

/** Throws where the file cannot be opened. */
export function openAccessLog(config: AccessLogConfig, log: Log): AccessLog {
  const { path, format } = config;
  // A disk that is full says so with every write.
  const sparingly = occasionalLog(log);
  const file = new LineFile(path, (error) =>
    sparingly.error({ err: error, path }, 'the access log cannot be written; lines are dropped'),
  );
  const lineOf = format === 'json' ? jsonLine : combinedLine;
  return {
    config,
    get dropped() {
      return file.dropped;
    },
    write(passage, durationMs) {
      file.write(lineOf(entryOf(passage, durationMs)));
    },
    reopen() {
      try {
        file.reopen();
      } catch (error) {
        log.error({ err: error, path }, 'the access log cannot be opened anew, and goes on in the old file');
      }
    },
    close: () => file.close(),
  };
}
