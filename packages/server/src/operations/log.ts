/**
 * The service's log: one JSON object per line on standard output, or short coloured lines when that is a terminal. The level may
 * change while it runs; secrets are taken out of everything (`secrets.ts`).
 *
 * Single requests are not logged, refused ones neither: clients would decide how long the log is. They are counted
 * (`metrics.ts`, `refused-keys.ts`); where a line about one helps, `occasional-log.ts` keeps it to a few per period.
 */
import { type DestinationStream, destination, pino } from 'pino';
import type { LogLevel } from '../config/config.ts';
import type { Log } from '../service/log.ts';
import { textWithoutSecrets, withoutSecrets } from './secrets.ts';
import { terminalLine } from './terminal-line.ts';

export interface LogOptions {
  readonly level: LogLevel;
  /** Values that are never written, such as the tokens of the configuration. */
  readonly secrets?: readonly string[];
  /** Fields of every line, such as the thread. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Default: standard output. */
  readonly to?: DestinationStream;
  /** Short lines for a person. Default: whether standard output is a terminal. */
  readonly isTerminal?: boolean;
}

export interface ServiceLog extends Log {
  level: LogLevel;
  /** After a reload. Secrets that were known stay unsaid, too. */
  hide(secrets: readonly string[]): void;
  /** Writes what is still waiting; before the process ends. */
  flush(): void;
}

/** Lines that wait while standard output takes none; more are dropped rather than to fill the memory. */
const waitingBytes = 4 * 1024 * 1024;
const mostSecrets = 1000;

export function serviceLog(options: LogOptions): ServiceLog {
  const { level, fields = {}, isTerminal = options.to === undefined && process.stdout.isTTY === true } = options;
  let secrets = options.secrets ?? [];
  const standardOutput = options.to ? undefined : destination({ dest: 1, sync: false, maxLength: waitingBytes });
  const to: DestinationStream = options.to ?? standardOutput!;
  const stream: DestinationStream = isTerminal ? { write: (line) => to.write(terminalLine(line)) } : to;
  const logger = pino(
    {
      level,
      base: fields,
      // Errors too: pino's own way of writing them would come after ours and knows no secrets.
      serializers: { err: (value) => value },
      formatters: { log: (object) => withoutSecrets(object, secrets) as Record<string, unknown> },
      hooks: {
        logMethod([first, message], method) {
          if (typeof message === 'string') method.call(this, first, textWithoutSecrets(message, secrets));
          else method.call(this, first);
        },
      },
    },
    stream,
  );
  return {
    debug: (object, message) => logger.debug(object, message),
    info: (object, message) => logger.info(object, message),
    warn: (object, message) => logger.warn(object, message),
    error: (object, message) => logger.error(object, message),
    get level() {
      return logger.level as LogLevel;
    },
    set level(next) {
      logger.level = next;
    },
    hide(more) {
      secrets = [...new Set([...more, ...secrets])].slice(0, mostSecrets);
    },
    flush: () => standardOutput?.flushSync(),
  };
}
