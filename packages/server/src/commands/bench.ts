/** `sluice bench`: what this machine can do with a service of its own. */
import { appendFile, writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { Protocol } from '../load/load-order.ts';
import type { MachineFigures, MemoryFigures, ProtocolFigures } from '../load/machine-figures.ts';
import { type MeasureOptions, measureMachine } from '../load/measure-machine.ts';
import { measureFigures } from '../plan/measure/measure-figures.ts';
import type { BenchFile, PlanFigures } from '../plan/plan-figures.ts';
import { type Client, clients, type PlanPolicy, planDefaults } from '../plan/plan-question.ts';

interface BenchFlags {
  readonly quick?: boolean;
  readonly protocols: readonly Protocol[];
  readonly seconds?: number;
  readonly keys?: number;
  /** `true`: on standard output. */
  readonly json?: string | true;
}

const all: readonly Protocol[] = ['http', 'resp', 'grpc'];
const full = { seconds: 10, keys: 1_000_000 };
const quick = { seconds: 1.5, keys: 200_000 };

/** What the clients of a plan are measured with: a plan says so where it asks for another. */
const planPolicy: PlanPolicy = { algorithm: 'sliding-log', limit: 100, window: 60_000 };
/** As long as a plan measures by itself: its runs are many. */
const longestPlanSeconds = 3;
const protocolOf: Readonly<Record<Client, Protocol>> = { smart: 'resp', redis: 'resp', http: 'http', grpc: 'grpc' };

export function benchCommand(): Command {
  return new Command('bench')
    .description('Measures this machine: checks per second and core, latencies, bytes per key.')
    .option('--quick', 'about 20 seconds instead of two minutes')
    .option('--protocols <list>', `of ${all.join(',')}`, protocolsOf, all)
    .option('--seconds <number>', `of each measurement (default: ${full.seconds}, quick ${quick.seconds})`, secondsOf)
    .option('--keys <count>', `held when memory is measured (default: ${full.keys}, quick ${quick.keys})`, keysOf)
    .option(
      '--json [file]',
      'write the figures as JSON, with what "sluice plan --figures" reads: into the file, else on standard output instead of the table',
    )
    .addHelpText(
      'after',
      `
Starts a service with one thread on free loopback ports, and generators beside it: a machine with less than two free
cores measures them too. Latencies are measured at 70 % of what was reached, by requests that are sent at their times
whether or not earlier ones were answered.

With --json it also measures what a plan has to know, for about a minute more: the clients of the chosen protocols, and
sluice/client in any case. What a key takes depends on the limit that is planned for, and "sluice plan" measures that itself.

  sluice bench --quick
  sluice bench --json figures.json
  sluice plan --rps 50M --users 40M --limit 100/1m --figures figures.json

Exit codes: 0 measured, 1 some requests failed or the service did not run, 2 bad usage.`,
    )
    .action(bench);
}

function protocolsOf(text: string): readonly Protocol[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(all as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`It must be some of ${all.join(',')}, got "${unknown}".`);
  return all.filter((name) => names.includes(name));
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 3600)) throw new InvalidArgumentError('It must be a number from 0.1 to 3600.');
  return value;
}

function keysOf(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value >= 100 && value <= 100_000_000)) {
    throw new InvalidArgumentError('It must be a whole number from 100 to 100000000.');
  }
  return value;
}

async function bench({ json, protocols, ...flags }: BenchFlags): Promise<void> {
  const preset = flags.quick ? quick : full;
  const options: MeasureOptions = {
    protocols,
    seconds: flags.seconds ?? preset.seconds,
    keys: flags.keys ?? preset.keys,
    progress: (text) => process.stderr.write(`${text}\n`),
  };
  // The service that was started ends with this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    // Better now than after two minutes.
    if (typeof json === 'string') await appendFile(json, '');
  } catch (error) {
    process.stderr.write(`--json must name a file that can be written: ${(error as Error).message}\n`);
    process.exitCode = 2;
    return;
  }
  try {
    const figures = await measureMachine(options);
    const plan = json === undefined ? undefined : await figuresOfPlan(options);
    const file: BenchFile | undefined = plan && { ...figures, plan };
    const text = `${JSON.stringify(file, null, 2)}\n`;
    process.stdout.write(json === true ? text : `${table(figures)}\n`);
    if (typeof json === 'string') await writeFile(json, text);
    for (const { protocol, errors, firstError } of figures.protocols) {
      if (errors > 0) complain(`${protocol}: ${errors} requests failed, the first one: ${firstError}`);
    }
    for (const { client, errors } of plan?.clients ?? []) {
      if (errors > 0) complain(`${client}: ${errors} requests failed while it was measured for a plan`);
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

function complain(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

/** The clients that a plan may be made for. A node asks another as sluice/client does, so every plan needs that one. */
function figuresOfPlan({ protocols, seconds, progress }: MeasureOptions): Promise<PlanFigures> {
  return measureFigures({
    clients: clients.filter((client) => client === 'smart' || protocols.includes(protocolOf[client])),
    policy: planPolicy,
    keyBytes: planDefaults.keyBytes,
    seconds: Math.min(seconds, longestPlanSeconds),
    etcd: [],
    progress: (text) => progress(`for a plan, ${text}`),
  });
}

const head = ['', 'checks/s per core', 'cpu us', 'at checks/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'errors'];

function table({ machine, version, protocols, memory }: MachineFigures): string {
  const rows = [head, ...protocols.map(row)];
  const widths = head.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  const lines = rows.map((cells) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('   '),
  );
  const { cpuModel, cores, nodeVersion } = machine;
  return [
    `sluice ${version}, node ${nodeVersion}, ${cpuModel}, ${cores} cores; one thread`,
    '',
    ...lines,
    '',
    `${whole(memory.keys)} keys: ${(memory.rssBytes / 1e6).toFixed(0)} MB resident, ${bytesOfKey(memory)}`,
  ].join('\n');
}

function bytesOfKey({ bytesPerKey }: MemoryFigures): string {
  if (bytesPerKey !== undefined) return `${bytesPerKey.toFixed(0)} bytes per key`;
  return `too few keys to see what one takes: give --keys ${quick.keys} or more`;
}

const names: Readonly<Record<Protocol, string>> = {
  http: 'HTTP /v1/check',
  resp: 'Redis CL.THROTTLE',
  grpc: 'gRPC ShouldRateLimit',
};

function row({
  protocol,
  pipelined,
  checksPerSecondPerCore,
  processorUsPerCheck,
  atLoad,
  errors,
}: ProtocolFigures): string[] {
  return [
    pipelined === 1 ? names[protocol] : `${names[protocol]}, ${pipelined} at once`,
    whole(checksPerSecondPerCore),
    processorUsPerCheck.toFixed(2),
    whole(atLoad.checksPerSecond),
    ...[atLoad.p50Ms, atLoad.p99Ms, atLoad.p999Ms].map((ms) => ms.toFixed(2)),
    whole(errors),
  ];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
