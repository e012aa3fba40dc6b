/** `sluice gateway`: runs the gateway until it is told to end. */
import { Command } from 'commander';
import { addressText } from '../config/address-text.ts';
import type { Config } from '../config/config.ts';
import { formatProblems } from '../config/format-problems.ts';
import type { Problem } from '../config/problem.ts';
import { type ReadConfigOptions, type ReadConfigResult, readConfig } from '../config/read-config.ts';
import { secretsOf } from '../config/secrets.ts';
import { type RunningGateway, startGateway } from '../gateway/start-gateway.ts';
import { serviceLog } from '../operations/log.ts';
import { type Hangups, listenForHangups } from './hangups.ts';
import { listenProblem } from './listen-problem.ts';
import { runUntilEnded } from './run-until-ended.ts';

interface GatewayFlags {
  readonly config?: string;
  readonly listen?: string;
  readonly upstream?: readonly string[];
  readonly admin?: string;
  readonly banner?: boolean;
}

export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('Runs the gateway: a reverse proxy that limits, queues, balances and breaks.')
    .option('-c, --config <file>', 'configuration, YAML, with a gateway section (default: $SLUICE_CONFIG)')
    .option('-l, --listen <address>', 'where clients come to: a port, or host:port')
    .option('-u, --upstream <member...>', 'host:port to send everything to; several share it. Instead of a file')
    .option('--admin <address>', 'metrics, health and reload: a port, host:port, or "false"')
    .option('--banner', 'print the addresses for a person (default: when standard output is a terminal)')
    .addHelpText(
      'after',
      `
SIGHUP reads the configuration again and reopens the access log; a changed file is read by itself. A wrong one changes nothing.
SIGTERM ends the gateway when open requests are answered.

  sluice gateway --config sluice.yaml
  sluice gateway --listen 8000 --upstream 127.0.0.1:3000
  sluice gateway --listen 0.0.0.0:80 --upstream 10.0.0.1:3000 10.0.0.2:3000`,
    )
    .action(gateway);
}

async function gateway(flags: GatewayFlags): Promise<void> {
  const hangups = listenForHangups();
  const options = optionsOf(flags);
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n`);
    process.exitCode = 2;
    return;
  }
  const read = readConfig(options);
  if ('problems' in read) {
    const problems = flags.upstream === undefined ? read.problems : read.problems.map(asTyped);
    process.stderr.write(`${formatProblems(problems, read.sources)}\n`);
    process.exitCode = 2;
    return;
  }
  if (read.config.gateway === undefined) {
    process.stderr.write(
      'There is no gateway in the configuration. Add a gateway section, or say where requests go: --upstream 127.0.0.1:3000\n',
    );
    process.exitCode = 2;
    return;
  }
  const hasBanner = flags.banner ?? process.stdout.isTTY === true;
  await run(read, { readAgain: () => readConfig(options), hangups, hasBanner });
}

/** What is wrong with the flags, or what to read. */
function optionsOf({ config, upstream, listen, admin }: GatewayFlags): ReadConfigOptions | string {
  const overrides = { 'gateway.listen': listen, 'gateway.admin': admin };
  if (upstream === undefined) return { path: config, environment: process.env, overrides };
  if (config !== undefined) return '--upstream is instead of --config: the file says where requests go.';
  const gateway = {
    routes: [{ name: 'all', upstream: 'members' }],
    upstreams: { members: { members: upstream } },
  };
  // JSON is YAML.
  return { text: JSON.stringify({ gateway }), environment: process.env, overrides };
}

/** Of a member that was typed: nobody has seen the file that `optionsOf` made of it. */
function asTyped(problem: Problem): Problem {
  if (!problem.path.startsWith('gateway.upstreams.members.')) return problem;
  const message = problem.message.replace(problem.path, '--upstream');
  return { file: 'command line', line: 0, column: 0, path: '--upstream', message };
}

interface RunParts {
  readAgain(): ReadConfigResult;
  readonly hangups: Hangups;
  /** Prints the addresses for a person. */
  readonly hasBanner: boolean;
}

async function run(
  { config, watched, watchedContent }: Extract<ReadConfigResult, { config: Config }>,
  { readAgain, hangups, hasBanner }: RunParts,
): Promise<void> {
  const log = serviceLog({ level: config.logs.level, secrets: secretsOf(config) });
  const { service, listening, hasStudio, reopenAccessLog } = await runUntilEnded(
    log,
    () => startGateway({ config, watched, watchedContent, readConfig: readAgain, log }),
    (error) => startProblem(error, config),
  );
  hangups.answerWith(() => {
    reopenAccessLog();
    void service.reload();
  });
  log.info({ listening: addresses(listening), routes: config.gateway?.routes.length }, 'listening');
  if (hasBanner) process.stdout.write(banner({ listening, hasStudio }, config));
}

/** What keeps a gateway from starting, said to a person. */
function startProblem(error: unknown, { gateway }: Config): string {
  return listenProblem(error, [
    { setting: 'gateway.listen', flag: '--listen', address: gateway?.listen },
    { setting: 'gateway.admin', flag: '--admin', address: gateway?.admin },
  ]);
}

function addresses({ gateway, admin }: RunningGateway['listening']): Record<string, string> {
  return { gateway: addressText(gateway), ...(admin && { admin: addressText(admin) }) };
}

function banner({ listening, hasStudio }: Pick<RunningGateway, 'listening' | 'hasStudio'>, config: Config): string {
  const { gateway, admin } = listening;
  const { routes, tls } = config.gateway!;
  const { rules, security } = config;
  const lines = ['', 'Sluice is listening.', '', `  gateway ${tls ? 'https' : 'http'}://${addressText(gateway)}`];
  if (admin)
    lines.push(`  admin   ${security.tls ? 'https' : 'http'}://${addressText(admin)}   (/metrics, /healthz, /readyz)`);
  if (admin && hasStudio) lines.push(`  studio  ${security.tls ? 'https' : 'http'}://${addressText(admin)}/`);
  lines.push('', `  ${count(routes.length, 'route')}, ${count(rules.length, 'rule')}`, '', 'Try:', '');
  lines.push(`  curl -i ${tls ? 'https' : 'http'}://${addressText(gateway)}/`);
  return `${lines.join('\n')}\n\n`;
}

function count(howMany: number, noun: string): string {
  return `${howMany} ${howMany === 1 ? noun : `${noun}s`}`;
}
