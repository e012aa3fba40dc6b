/** Reading the configuration again: all of it applies, or none of it does and the old one stays. */
import type { Config } from '../config/config.ts';
import { diffConfig } from '../config/diff-config.ts';
import { diffEnvoy } from '../config/diff-envoy.ts';
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
  /** Of those who apply none, nothing is told. */
  private envoyRules: EnvoyRules | undefined;
  private wasRefused = false;
  private readonly apply: (config: Config, envoy: EnvoyRules) => void;

  /** @param envoyRules those it begins with, where they apply */
  constructor(source: Source, apply: (config: Config, envoy: EnvoyRules) => void, envoyRules?: EnvoyRules) {
    this.source = source;
    this.config = source.config;
    this.envoyRules = envoyRules;
    this.watched = { paths: source.watched, content: source.watchedContent };
    this.apply = apply;
    this.numbers = { succeeded: 0, failed: 0, lastSuccessMs: Date.now() };
  }

  reload(): ReloadReport {
    let read: ReadConfigResult;
    try {
      read = this.source.readConfig();
    } catch (error) {
      // What nobody foresaw in a file: on a signal there is nobody else to catch it, and the service would end.
      return this.refused([(error as Error).message]);
    }
    if ('problems' in read) return this.refused(read.problems.map(problemLine));
    const { config } = read;
    // Also where it does not apply: what is wrong may be put right in one of them.
    this.watched = { paths: read.watched, content: read.watchedContent };
    this.onWatched(this.watched);
    let envoyRules: EnvoyRules;
    try {
      envoyRules = envoyRulesOf(config.envoy);
      this.apply(config, envoyRules);
    } catch (error) {
      if (error instanceof EnvoyFilesError) return this.refused(error.problems.map(problemText));
      return this.refused([(error as Error).message]);
    }
    const { applied, ...rules } = diffConfig(this.config, config);
    const limits = this.envoyRules ? diffEnvoy(this.envoyRules, envoyRules) : noDifference;
    const added = [...rules.added, ...limits.added];
    const changed = [...rules.changed, ...limits.changed];
    const removed = [...rules.removed, ...limits.removed];
    // What the service was started with is what these still are.
    const { needsRestart } = diffConfig(this.source.config, config);
    this.config = config;
    if (this.envoyRules) this.envoyRules = envoyRules;
    this.numbers.succeeded += 1;
    this.numbers.lastSuccessMs = Date.now();
    const isChanged = [added, changed, removed, applied, needsRestart].some(({ length }) => length > 0);
    // Else the last that the log says of it would be that it is wrong.
    const isNews = isChanged || this.wasRefused;
    this.source.log[isNews ? 'info' : 'debug'](
      { added, changed, removed, settings: applied },
      this.wasRefused ? 'the configuration was read again, and is right again' : 'the configuration was read again',
    );
    this.wasRefused = false;
    if (needsRestart.length > 0) {
      this.source.log.warn({ settings: needsRestart }, 'some changed settings apply after a restart');
    }
    return { isApplied: true, problems: [], needsRestart, added, changed, removed };
  }

  private refused(problems: readonly string[]): ReloadReport {
    this.numbers.failed += 1;
    this.wasRefused = true;
    this.source.log.error({ problems }, 'the configuration is wrong; the old one stays in force');
    return { isApplied: false, problems, needsRestart: [], added: [], changed: [], removed: [] };
  }
}

const noDifference: ReturnType<typeof diffEnvoy> = { added: [], changed: [], removed: [] };

export function envoyRulesOf(config: Config['envoy']): EnvoyRules {
  return config === undefined
    ? loadEnvoyFiles([], { mergeDomains: false })
    : readEnvoyDirectory(config.directory, config);
}
