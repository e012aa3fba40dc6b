/** `sluice validate`: says what is wrong with a configuration, and where; or what it amounts to. */
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describeConfig, shownSettings } from '../config/describe-config.ts';
import { configVariable, type Environment } from '../config/environment.ts';
import { formatProblems } from '../config/format-problems.ts';
import type { Problem } from '../config/problem.ts';
import { readConfig } from '../config/read-config.ts';
import { configSchema } from '../config/schema.ts';
import { describeRules } from '../envoy/describe-rules.ts';
import type { ConfiguredLimit, EnvoyRules } from '../envoy/envoy-rules.ts';
import { EnvoyFilesError, type FileProblem, problemText } from '../envoy/file-problem.ts';
import { readEnvoyDirectory } from '../envoy/read-envoy-directory.ts';

export interface ValidateOptions {
  /** Default: what `SLUICE_CONFIG` names, else `sluice.yaml`; with `envoyConfig` none is needed. */
  readonly file?: string | undefined;
  readonly envoyConfig?: string | undefined;
  readonly json?: boolean | undefined;
  /** Prints the schema and looks at nothing. */
  readonly schema?: boolean | undefined;
}

export interface ValidateStreams {
  readonly environment: Environment;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

const usualFile = 'sluice.yaml';

/** The exit code: 0 valid, 2 not. */
export function validate(options: ValidateOptions, { environment, stdout, stderr }: ValidateStreams): number {
  if (options.schema) {
    stdout.write(`${JSON.stringify(configSchema, null, 2)}\n`);
    return 0;
  }
  const path = options.file ?? (environment[configVariable] || undefined) ?? usualFileUnless(options.envoyConfig);
  const read = readConfig({ path, environment, overrides: { 'envoy.directory': options.envoyConfig } });
  const found: Problem[] = 'problems' in read ? [...read.problems] : [];
  const sources: Record<string, string> = { ...read.sources };
  let envoy: EnvoyRules | undefined;
  const directory = 'config' in read ? read.config.envoy : envoyOf(options.envoyConfig, found);
  if (directory !== undefined) {
    try {
      envoy = readEnvoyDirectory(directory.directory, directory);
    } catch (error) {
      if (!(error instanceof EnvoyFilesError)) throw error;
      found.push(...error.problems.map((problem) => ({ path: '', ...problem })));
      for (const { file, line } of error.problems) if (line > 0) sources[file] = readFileSync(file, 'utf8');
    }
  }

  if (found.length > 0 || !('config' in read)) {
    if (options.json) stdout.write(`${JSON.stringify({ isValid: false, problems: found }, null, 2)}\n`);
    else {
      stderr.write(`${formatProblems(found, sources)}\n\n`);
      stderr.write(`${found.length === 1 ? 'One problem' : `${found.length} problems`} in ${placesOf(found)}.\n`);
    }
    return 2;
  }

  const { config } = read;
  const warnings = envoy?.warnings ?? [];
  if (options.json) {
    const envoyLimits = envoy?.limits.map(({ domain, descriptor, rate }) => ({
      domain,
      descriptor,
      policy: rate?.policy ?? null,
    }));
    const report = {
      isValid: true,
      file: path,
      rules: config.ruleData,
      settings: shownSettings(config),
      envoyLimits,
      warnings,
    };
    stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    return 0;
  }
  const lines = [`${path ?? options.envoyConfig} is valid.`, '', ...describeConfig(config), ...envoyLines(envoy)];
  lines.push(...warnings.map((warning: FileProblem) => `Warning: ${problemText(warning)}`));
  stdout.write(`${lines.join('\n')}\n`);
  return 0;
}

function usualFileUnless(envoyConfig: string | undefined): string | undefined {
  return envoyConfig !== undefined && !existsSync(usualFile) ? undefined : usualFile;
}

/** With a wrong file the folder is looked at all the same, unless it is what is wrong. */
function envoyOf(directory: string | undefined, problems: readonly Problem[]) {
  if (directory === undefined || problems.some(({ path }) => path === 'envoy.directory')) return undefined;
  return { directory, mergeDomains: false };
}

// More files than these are counted.
const mostNamed = 3;

/** The files concerned, in the order of their problems. */
function placesOf(problems: readonly Problem[]): string {
  const files = [...new Set(problems.map(({ file }) => (isFileless(file) ? `the ${file}` : file)))];
  return files.length > mostNamed ? `${files.length} files` : files.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

function isFileless(place: string): boolean {
  return place === 'environment' || place === 'command line';
}

function envoyLines(envoy: EnvoyRules | undefined): string[] {
  if (envoy === undefined) return [];
  return ['Envoy', ...envoy.limits.map((limit) => `  ${limitLine(envoy, limit)}`)];
}

/** As envoyproxy/ratelimit has it, and what is our own behind that. */
function limitLine(envoy: EnvoyRules, limit: ConfiguredLimit): string {
  const line = describeRules({ ...envoy, limits: [limit] }).trimEnd();
  const { algorithm, burst, slots } = (limit.rate?.policy ?? {}) as Readonly<Record<string, unknown>>;
  if (algorithm === undefined || algorithm === 'fixed-window') return line;
  const own = Object.entries({ algorithm, burst, slots }).filter(([, value]) => value !== undefined);
  return [line, ...own.map(([name, value]) => `${name}: ${value}`)].join(', ');
}

export function validateCommand(): Command {
  return new Command('validate')
    .description('Says what is wrong with a configuration, with line and column; or what it amounts to.')
    .argument('[file]', `the configuration (default: $${configVariable}, else ${usualFile})`)
    .option('--config <file>', 'the same as [file]')
    .option('--envoy-config <directory>', 'also the files of envoyproxy/ratelimit in this folder')
    .option('--json', 'report as JSON')
    .option('--schema', 'print the JSON Schema of the configuration, for editors')
    .addHelpText(
      'after',
      `
Variables of the environment count as they would for "serve". Exit code 0: valid, 2: not.

  sluice validate sluice.yaml
  sluice validate --schema > sluice.schema.json`,
    )
    .action((file: string | undefined, flags: ValidateOptions & { readonly config?: string }) => {
      const { env: environment, stdout, stderr } = process;
      if (file !== undefined && flags.config !== undefined) {
        stderr.write(`--config is the same as [file]: give ${file} or --config ${flags.config}.\n`);
        process.exitCode = 2;
        return;
      }
      process.exitCode = validate({ ...flags, file: file ?? flags.config }, { environment, stdout, stderr });
    });
}
