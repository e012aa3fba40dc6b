/** Reading the configuration again: all of it applies, or none of it does and the old one stays. */
import type { Config } from '../config/config.ts';
import { diffConfig } from '../config/diff-config.ts';
import { problemLine } from '../config/format-problems.ts';
import type { ReadConfigResult } from '../config/read-config.ts';
import type { Watched } from '../config/watch-config.ts';
import type { EnvoyRules } from '../envoy/envoy-rules.ts';
import { EnvoyFilesError, problemText } from '../envoy/file-problem.ts';
import { loadEnvoyFiles } from '../envoy/load-envoy-files.ts';
import { readEnvoyDirectory } from '../envoy/read-envoy-directory.ts';
import type { ReloadNumbers } from '../operations/metrics.ts';
import type { Log } from '../service/log.ts';
import type { ReloadReport } from '../service/service.ts';

interface Source {
  readonly config: Config;
  readonly watched: readonly string[];
  readonly watchedContent?: string | undefined;
  readConfig(): ReadConfigResult;
  readonly log: Log;
}

export class Reloads {
  /** The one in force. */
  config: Config;
  /** The files that the latest configuration names. */
  watched: Watched;
  /** Told of them with each reload. */
  onWatched: (watched: Watched) => void = () => undefined;
  readonly numbers: { -readonly [Field in keyof ReloadNumbers]: ReloadNumbers[Field] };
  private readonly source: Source;
  private readonly apply: (config: Config, envoy: EnvoyRules) => void;

  constructor(source: Source, apply: (config: Config, envoy: EnvoyRules) => void) {
    this.source = source;
    this.config = source.config;
    this.watched = { paths: source.watched, content: source.watchedContent };
    this.apply = apply;
    this.numbers = { succeeded: 0, failed: 0, lastSuccessMs: Date.now() };
  }

  reload(): ReloadReport {
    const read = this.source.readConfig();
    if ('problems' in read) return this.refused(read.problems.map(problemLine));
    const { config } = read;
    // Also where it does not apply: what is wrong may be put right in one of them.
    this.watched = { paths: read.watched, content: read.watchedContent };
    this.onWatched(this.watched);
    try {
      this.apply(config, envoyRulesOf(config.envoy));
    } catch (error) {
      if (error instanceof EnvoyFilesError) return this.refused(error.problems.map(problemText));
      return this.refused([(error as Error).message]);
    }
    const { added, changed, removed, applied } = diffConfig(this.config, config);
    // What the service was started with is what these still are.
    const { needsRestart } = diffConfig(this.source.config, config);
    this.config = config;
    this.numbers.succeeded += 1;
    this.numbers.lastSuccessMs = Date.now();
    const isChanged = [added, changed, removed, applied, needsRestart].some(({ length }) => length > 0);
    this.source.log[isChanged ? 'info' : 'debug'](
      { added, changed, removed, settings: applied },
      'the configuration was read again',
    );
    if (needsRestart.length > 0) {
      this.source.log.warn({ settings: needsRestart }, 'some changed settings apply after a restart');
    }
    return { isApplied: true, problems: [], needsRestart, added, changed, removed };
  }

  private refused(problems: readonly string[]): ReloadReport {
    this.numbers.failed += 1;
    this.source.log.error({ problems }, 'the configuration is wrong; the old one stays in force');
    return { isApplied: false, problems, needsRestart: [], added: [], changed: [], removed: [] };
  }
}

export function envoyRulesOf(config: Config['envoy']): EnvoyRules {
  return config ? readEnvoyDirectory(config.directory, config) : loadEnvoyFiles([], { mergeDomains: false });
}
