/** `sluice serve`: runs the service until it is told to end. */
import { Command, Option } from 'commander';
import { SluiceError } from 'sluice';
import { addressText } from '../config/address-text.ts';
import type { Config } from '../config/config.ts';
import { formatProblems } from '../config/format-problems.ts';
import { type ReadConfigOptions, type ReadConfigResult, readConfig } from '../config/read-config.ts';
import { secretsOf } from '../config/secrets.ts';
import { EnvoyFilesError, problemText } from '../envoy/file-problem.ts';
import { serviceLog } from '../operations/log.ts';
import type { DoorName } from '../operations/metrics.ts';
import { type RunningService, startService } from '../serve/start-service.ts';
import { type Hangups, listenForHangups } from './hangups.ts';
import { listenProblem } from './listen-problem.ts';
import { runUntilEnded } from './run-until-ended.ts';

interface ServeFlags {
  readonly config?: string;
  readonly envoyConfig?: string;
  readonly host?: string;
  readonly http?: string;
  readonly grpc?: string;
  readonly resp?: string;
  readonly workers?: string;
  readonly store?: string;
  readonly redis?: string;
  readonly etcd?: string;
  readonly clusterNodes?: string;
  readonly banner?: boolean;
}

export function serveCommand(): Command {
  return new Command('serve')
    .description('Runs the service: HTTP on 8080, gRPC (Envoy) on 8081, the Redis protocol on 6380.')
    .option('-c, --config <file>', 'configuration, YAML (default: $SLUICE_CONFIG, else no rules)')
    .option('--envoy-config <directory>', 'files of envoyproxy/ratelimit')
    .option('--host <address>', 'where all doors listen (default: 127.0.0.1)')
    .option('--http <port>', 'HTTP port, or "false"')
    .option('--grpc <port>', 'gRPC port, or "false"')
    .option('--resp <port>', 'Redis protocol port, or "false"')
    .option('--workers <count>', 'threads that speak with clients (default: one per core)')
    .addOption(new Option('--store <type>', 'where the numbers live').choices(['memory', 'redis', 'owned', 'cluster']))
    .option('--redis <url>', 'the Redis of --store redis')
    .option('--etcd <urls>', 'the etcd of --store owned: http://host:port, several with commas')
    .option('--cluster-nodes <addresses>', 'some nodes of --store cluster: host:port, several with commas')
    .option('--banner', 'print the addresses for a person (default: when standard output is a terminal)')
    .addHelpText(
      'after',
      `
Every setting of the file can also be given in the environment: SLUICE_LISTEN_HTTP=9000.
SIGHUP reads the configuration again, SIGTERM ends the service when open requests are answered.

  sluice serve --config sluice.yaml
  curl -i localhost:8080/v1/check -d '{"policy":{"algorithm":"gcra","limit":5,"window":"1m"},"key":"me"}'
  redis-cli -p 6380 CL.THROTTLE me 4 5 60`,
    )
    .action(serve);
}

async function serve(flags: ServeFlags): Promise<void> {
  const hangups = listenForHangups();
  const options: ReadConfigOptions = {
    path: flags.config,
    environment: process.env,
    overrides: {
      'envoy.directory': flags.envoyConfig,
      'listen.host': flags.host,
      'listen.http': flags.http,
      'listen.grpc': flags.grpc,
      'listen.resp': flags.resp,
      workers: flags.workers,
      'store.type': flags.store ?? storeMeantBy(flags),
      'store.url': flags.redis,
      'store.etcd': flags.etcd,
      'store.nodes': flags.clusterNodes,
    },
  };
  const read = readConfig(options);
  if ('problems' in read) {
    process.stderr.write(`${formatProblems(read.problems, read.sources)}\n`);
    process.exitCode = 2;
    return;
  }
  const hasBanner = flags.banner ?? process.stdout.isTTY === true;
  await run(read, { readAgain: () => readConfig(options), hangups, hasBanner });
}

/** Who names the address of a store means that store. */
function storeMeantBy({ redis, etcd, clusterNodes }: ServeFlags): string | undefined {
  if (redis !== undefined) return 'redis';
  if (etcd !== undefined) return 'owned';
  return clusterNodes === undefined ? undefined : 'cluster';
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
  const { service, listening, studio } = await runUntilEnded(
    log,
    (end) =>
      startService({
        config,
        watched,
        watchedContent,
        readConfig: readAgain,
        log,
        onDeath(error) {
          // A node whose settings are not its cluster's cannot be helped by starting it again.
          if (error instanceof SluiceError && error.code === 'invalid-option') {
            log.error({}, error.message);
            end(2, 'wrong settings');
            return;
          }
          log.error({ err: error }, 'a thread died');
          end(1, 'a thread died');
        },
      }),
    (error) => startProblem(error, config),
  );
  hangups.answerWith(() => void service.reload());
  log.info({ listening: addresses(listening), workers: config.workers, rules: config.rules.length }, 'listening');
  if (hasBanner) process.stdout.write(banner({ listening, studio }, config));
}

/** What keeps a service from starting, said to a person. */
function startProblem(error: unknown, config: Config): string {
  if (error instanceof EnvoyFilesError) return error.problems.map(problemText).join('\n');
  const doors = Object.entries(config.listen).map(([door, address]) => ({
    setting: `listen.${door}`,
    flag: `--${door}`,
    address,
  }));
  return listenProblem(error, doors);
}

function addresses(listening: RunningService['listening']): Record<string, string> {
  return Object.fromEntries(Object.entries(listening).map(([name, one]) => [name, addressText(one)]));
}

function banner(
  { listening, studio }: Pick<RunningService, 'listening' | 'studio'>,
  { rules, workers, security }: Config,
): string {
  const scheme = security.tls ? 'https' : 'http';
  const lines: string[] = ['', 'Sluice is listening.', ''];
  const says: Record<DoorName, (address: string) => string> = {
    http: (address) => `HTTP    ${scheme}://${address}`,
    grpc: (address) => `gRPC    ${address}   (Envoy rate limit service)`,
    resp: (address) => `Redis   ${address}   (CL.THROTTLE and more)`,
    admin: (address) => `admin   ${scheme}://${address}`,
  };
  for (const [name, one] of Object.entries(listening)) lines.push(`  ${says[name as DoorName](addressText(one))}`);
  if (studio) lines.push(`  studio  ${scheme}://${addressText(studio)}/`);
  lines.push('', `  ${rules.length} rules, ${workers} ${workers === 1 ? 'thread' : 'threads'}`);
  const token = security.tokens.length > 0 ? " -H 'authorization: Bearer <token>'" : '';
  const { http, resp } = listening;
  if (http || resp) lines.push('', 'Try:', '');
  if (http) {
    const body = `{"policy":{"algorithm":"gcra","limit":5,"window":"1m"},"key":"me"}`;
    lines.push(`  curl -i ${scheme}://${addressText(http)}/v1/check${token} -d '${body}'`);
  }
  if (resp) lines.push(`  redis-cli -h ${resp.host} -p ${resp.port} CL.THROTTLE me 4 5 60`);
  return `${lines.join('\n')}\n\n`;
}
