/** What a reload changes in a thread that speaks with clients; everything else that it was told at its start stays. */
import type { Config, LogLevel } from '../config/config.ts';
import { secretsOf } from '../config/secrets.ts';
import type { ServiceLog } from '../operations/log.ts';
import type { Tokens } from '../service/tokens.ts';

export interface ThreadSettings {
  /** That open its doors. */
  readonly tokens: readonly string[];
  readonly logLevel: LogLevel;
  /** What its log must not say. */
  readonly secrets: readonly string[];
}

export function threadSettings(config: Pick<Config, 'security' | 'store' | 'logs'>): ThreadSettings {
  return { tokens: config.security.tokens, logLevel: config.logs.level, secrets: secretsOf(config) };
}

export function applySettings(
  { tokens, logLevel, secrets }: ThreadSettings,
  thread: { readonly tokens: Tokens; readonly log: Pick<ServiceLog, 'level' | 'hide'> },
): void {
  // What opens the doors is hidden before it does.
  thread.log.hide(secrets);
  thread.log.level = logLevel;
  thread.tokens.set(tokens);
}
