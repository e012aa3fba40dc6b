/** `sluice plan`: what a cluster must be for so much traffic, by figures that are measured here. */
import { existsSync } from 'node:fs';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { algorithmNames, SluiceError } from 'sluice';
import { mostShards as shards } from '../cluster/shards.ts';
import { asksAnyNode } from '../plan/check-cost.ts';
import { removeLeftovers } from '../plan/measure/leftovers.ts';
import { measureFigures, measureStoresApart } from '../plan/measure/measure-figures.ts';
import { isMeasuredFor, type StoreOrder } from '../plan/measure/store-figures.ts';
import { checksPerWindow, liveKeys } from '../plan/memory-need.ts';
import { plan } from '../plan/plan.ts';
import { type PlanFigures, readPlanFigures, type StoreFigures } from '../plan/plan-figures.ts';
import {
  type Client,
  clients,
  gatherMsOf,
  type PlanQuestion,
  parseCount,
  parseLimit,
  planDefaults,
} from '../plan/plan-question.ts';
import { planSections, planSteps, planText } from '../plan/plan-text.ts';
import { typedTime } from '../terminal/typed-time.ts';

interface PlanFlags {
  readonly rps: number;
  readonly users: number;
  readonly limit: string;
  readonly algorithm: string;
  readonly client: Client;
  readonly keyBytes: number;
  readonly load: number;
  readonly latency: number;
  readonly roundTrip: number;
  readonly callers: number;
  readonly gather?: number;
  readonly refused?: number;
  readonly moved: number;
  readonly arrivals: number;
  readonly serving?: number;
  readonly nodesPerFailure: number;
  readonly failuresPerNodePerYear: number;
  readonly nodesPerCluster: number;
  readonly ttl: number;
  readonly grace: number;
  readonly standby: number;
  readonly copyEvery: number;
  readonly durableFrom: number;
  readonly reserveEvery: number;
  readonly durableKeys: number;
  readonly etcdRetention: number;
  readonly coresPerMachine: number;
  readonly packetBytes: number;
  readonly ownedRatio: number;
  readonly figures?: string;
  readonly measure?: boolean;
  readonly save?: string;
  readonly etcd: readonly string[];
  readonly seconds: number;
  readonly json?: boolean;
}

const d = planDefaults;
const usualSeconds = 3;

export function planCommand(): Command {
  return new Command('plan')
    .description(
      'Says how many nodes, how much memory and network a cluster needs for so much traffic, and what failures cost.',
    )
    .addOption(option('--rps <count>', 'checks per second, such as 50M', countOf).makeOptionMandatory())
    .addOption(option('--users <count>', 'different keys, such as 40M', wholeCountOf).makeOptionMandatory())
    .requiredOption('--limit <count/window>', 'of each user, such as 100/1m')
    .addOption(
      new Option('--algorithm <name>', 'how it is counted')
        .choices(algorithmNames.filter((name) => name !== 'concurrency'))
        .default('sliding-log'),
    )
    .addOption(
      new Option('--client <kind>', 'who asks: sluice/client, any Redis Cluster client, or HTTP or gRPC to any node')
        .choices(clients)
        .default(d.client),
    )
    .addOption(option('--latency <time>', 'what 99 of 100 checks must not exceed', timeOf, d.latencyMs, '10ms'))
    .addOption(option('--load <ratio>', 'what a core may be busy', ratioOf, d.load))
    .addOption(
      option('--nodes-per-failure <count>', 'lost at the same moment, and to be survived', wholeOf, d.nodesPerFailure),
    )
    .addOption(option('--failures-per-node-per-year <count>', 'crashes', numberOf, d.failuresPerNodePerYear))
    .addOption(
      option('--nodes-per-cluster <count>', 'at most; more nodes are more clusters', nodesOf, d.nodesPerCluster),
    )
    .addOption(
      option(
        '--ttl <time>',
        'how long a node may decide after it renewed its right',
        timeFrom(500, '500ms'),
        d.ttlMs,
        '10s',
      ),
    )
    .addOption(
      option('--grace <time>', 'how old a grant may be when it is used', timeFrom(1, '1ms'), d.graceMs, '10ms'),
    )
    .addOption(
      option('--standby <count|off>', 'grants of a key that may be ahead of its copy', standbyOf, d.unreplicated),
    )
    .addOption(
      option(
        '--copy-every <time>',
        'how long an owner gathers grants for a copy',
        timeOf,
        d.copyEveryMs,
        `${d.copyEveryMs}ms`,
      ),
    )
    .addOption(option('--key-bytes <count>', 'of a key, from 12', keyBytesOf, d.keyBytes))
    .addOption(option('--round-trip <time>', 'of the network, there and back', timeOf, d.roundTripMs, '0.5ms'))
    .addOption(option('--callers <count>', 'processes that ask', countOf, d.callers))
    .addOption(
      option(
        '--gather <time|0>',
        'how long a caller gathers checks for one write (default: smart 1ms, others 0)',
        timeOrNoneOf,
      ),
    )
    .addOption(
      option(
        '--refused <ratio>',
        'of all checks, those that the limit refuses (default: what users ask beyond it)',
        ratioOrNoneOf,
      ),
    )
    .addOption(
      option(
        '--moved <ratio>',
        'of the commands of a Redis client, those that go to the wrong node first',
        ratioOrNoneOf,
        d.movedRatio,
      ),
    )
    .addOption(
      option(
        '--arrivals <number>',
        'how unevenly checks come: squared coefficient of variation, 1 is Poisson',
        numberOf,
        d.arrivalVariability,
      ),
    )
    .addOption(option('--serving <number>', 'the same of serving them (default: as measured)', numberOf))
    .addOption(option('--cores-per-machine <count>', 'a node needs one', wholeFromOneOf, d.coresPerMachine))
    .addOption(option('--packet-bytes <count>', 'of a packet beside what it carries', wholeOf, d.packetBytes))
    .addOption(
      option(
        '--durable-from <time>',
        'windows from this on are written to etcd ahead',
        timeFrom(60_000, '1m'),
        d.durableFromMs,
        '1h',
      ),
    )
    .addOption(
      option('--reserve-every <time>', 'how long one such write lasts for a key', timeOf, d.reserveEveryMs, '1s'),
    )
    .addOption(
      option('--durable-keys <count>', 'keys of such windows at one node, at most', wholeFromOneOf, d.durableKeys),
    )
    .addOption(
      option(
        '--etcd-retention <time>',
        'for how long etcd keeps what was overwritten',
        timeOf,
        d.etcdRetentionMs,
        '1h',
      ),
    )
    .addOption(
      option(
        '--owned-ratio <ratio>',
        'what a node does of the checks of a plain service, reading aside, where no etcd is at hand to measure it',
        ratioOf,
        d.ownedRatio,
      ),
    )
    .option('--figures <file>', 'figures of --save or of "sluice bench --json", instead of measuring')
    .option('--measure', 'measure, also where --figures has something')
    .option('--save <file>', 'write the figures')
    .addOption(
      option('--etcd <addresses>', 'an etcd to measure with, such as http://127.0.0.1:2379', addressesOf, [], 'none'),
    )
    .addOption(option('--seconds <number>', 'of each measurement', secondsOf, usualSeconds))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Without --figures it measures first, for about half a minute: a service with one thread on free loopback ports and generators beside
it. A machine with less than two free cores measures them too. What nobody can measure beforehand is an option, and is printed.
What a key takes depends on --limit and --users: where the file has nothing of the kind, that is measured and said.

  sluice plan --rps 50M --users 40M --limit 100/1m
  sluice plan --rps 50M --users 40M --limit 100/1m --save figures.json       # of this client
  sluice plan --rps 80M --users 40M --limit 100/1m --figures figures.json    # the same client

  sluice bench --json figures.json                                           # of every client
  sluice plan --rps 5M --users 1M --limit 10/1s --algorithm gcra --client grpc --latency 50ms --figures figures.json

Exit codes: 0 a plan, 1 there is none or etcd cannot follow, 2 bad usage.`,
    )
    .action(run);
}

function option(
  flags: string,
  description: string,
  parse: (text: string) => unknown,
  value?: unknown,
  shown?: string,
): Option {
  const made = new Option(flags, description).argParser(parse);
  return value === undefined ? made : made.default(value, shown);
}

/** Their complaints, in the words of the command line. */
function checked<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new InvalidArgumentError(error.message);
  }
}

function numberWithin(text: string, isRight: (value: number) => boolean, mustBe: string): number {
  const value = Number(text);
  if (text.trim() === '' || !isRight(value)) throw new InvalidArgumentError(`It must be ${mustBe}.`);
  return value;
}

const countOf = (text: string) => checked(() => parseCount(text, 'It'));
const wholeCountOf = (text: string) => {
  const value = countOf(text);
  if (Number.isInteger(value)) return value;
  throw new InvalidArgumentError(`It must be a whole number such as 5000, 40k or 50M, got "${text}".`);
};
const timeOf = (text: string) => checked(() => typedTime(text, 'It'));
/** Nodes take nothing shorter. */
const timeFrom = (leastMs: number, least: string) => (text: string) => {
  const ms = timeOf(text);
  if (ms >= leastMs) return ms;
  throw new InvalidArgumentError(`It must be at least ${least}, got "${text}".`);
};
const timeOrNoneOf = (text: string) => (text === '0' ? 0 : timeOf(text));
const ratioOf = (text: string) => numberWithin(text, (value) => value > 0 && value < 1, 'a number above 0 and below 1');
const ratioOrNoneOf = (text: string) =>
  numberWithin(text, (value) => value >= 0 && value < 1, 'a number from 0 to below 1');
const numberOf = (text: string) =>
  numberWithin(text, (value) => value >= 0 && value <= 1e6, 'a number from 0 to 1000000');
const secondsOf = (text: string) =>
  numberWithin(text, (value) => value >= 0.1 && value <= 600, 'a number from 0.1 to 600');
const isWhole = (from: number, to: number) => (value: number) =>
  Number.isInteger(value) && value >= from && value <= to;
const wholeOf = (text: string) => numberWithin(text, isWhole(0, shards), `a whole number from 0 to ${shards}`);
const wholeFromOneOf = (text: string) => numberWithin(text, isWhole(1, 1_000_000), 'a whole number from 1 to 1000000');
const nodesOf = (text: string) => numberWithin(text, isWhole(1, shards), `a whole number from 1 to ${shards}`);
const keyBytesOf = (text: string) => numberWithin(text, isWhole(12, 1024), 'a whole number from 12 to 1024');
const standbyOf = (text: string) =>
  text === 'off' ? 0 : numberWithin(text, isWhole(0, 1_000_000), '"off" or a whole number from 0 to 1000000');

function addressesOf(text: string): readonly string[] {
  const addresses = text.split(',').map((address) => address.trim());
  const wrong = addresses.find((address) => !URL.canParse(address) || !/^https?:/.test(address));
  if (wrong !== undefined) throw new InvalidArgumentError('It must be addresses such as http://127.0.0.1:2379.');
  return addresses;
}

function questionOf(flags: PlanFlags): PlanQuestion {
  if (flags.grace > flags.ttl / 4)
    throw new BadUsage(`--grace must be at most a quarter of --ttl, which is ${flags.ttl} ms, got ${flags.grace} ms.`);
  return {
    checksPerSecond: flags.rps,
    users: flags.users,
    policy: parseLimit(flags.limit, flags.algorithm),
    client: flags.client,
    keyBytes: flags.keyBytes,
    load: flags.load,
    latencyMs: flags.latency,
    roundTripMs: flags.roundTrip,
    callers: flags.callers,
    gatherMs: flags.gather ?? gatherMsOf[flags.client],
    refusedRatio: flags.refused,
    movedRatio: flags.moved,
    arrivalVariability: flags.arrivals,
    serviceVariability: flags.serving,
    nodesPerFailure: flags.nodesPerFailure,
    failuresPerNodePerYear: flags.failuresPerNodePerYear,
    nodesPerCluster: flags.nodesPerCluster,
    ttlMs: flags.ttl,
    graceMs: flags.grace,
    unreplicated: flags.standby,
    copyEveryMs: flags.copyEvery,
    durableFromMs: flags.durableFrom,
    reserveEveryMs: flags.reserveEvery,
    durableKeys: flags.durableKeys,
    etcdRetentionMs: flags.etcdRetention,
    coresPerMachine: flags.coresPerMachine,
    packetBytes: flags.packetBytes,
    ownedRatio: flags.ownedRatio,
  };
}

/** What was typed cannot be. */
class BadUsage extends Error {}

async function run(flags: PlanFlags): Promise<void> {
  let isEnding = false;
  const end = () => {
    // The service that is measured ends with this process. Twice: at once.
    if (isEnding) process.exit(1);
    isEnding = true;
    void removeLeftovers().finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  try {
    const question = questionOf(flags);
    const { figures, store } = await figuresFor(question, flags);
    const found = plan(question, figures, store);
    if (typeof found === 'string') {
      process.stderr.write(`${found}\n`);
      process.exitCode = 1;
      return;
    }
    if (flags.json) {
      const sections = planSections(found, figures, store);
      process.stdout.write(
        `${JSON.stringify({ ...found, sections, steps: planSteps(found, figures, store), figures }, null, 2)}\n`,
      );
    } else process.stdout.write(`${planText(found, figures, store)}\n`);
    process.exitCode = found.problems.length === 0 ? 0 : 1;
  } catch (error) {
    // What fails because it was taken away is no news.
    if (isEnding) return;
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = error instanceof BadUsage || error instanceof SluiceError ? 2 : 1;
  }
}

const progress = (text: string) => process.stderr.write(`${text}\n`);

/** Filling stores with more than these takes longer than all the rest. */
const mostChecks = 2_000_000;

async function figuresFor(
  question: PlanQuestion,
  flags: PlanFlags,
): Promise<{ readonly figures: PlanFigures; readonly store: StoreFigures }> {
  if (flags.figures !== undefined && flags.etcd.length > 0 && !flags.measure)
    throw new BadUsage(
      '--etcd is measured with, and --figures is instead of measuring. Leave one out, or add --measure.',
    );
  const saved = flags.figures === undefined ? undefined : await readFigures(flags.figures);
  // Better now than after the measurement.
  if (flags.save !== undefined) await mustBeWritable(flags.save);
  const order = storeOrder(question);
  const wanted: Client[] = asksAnyNode(question.client) ? [question.client, 'smart'] : [question.client];
  let figures = saved;
  if (figures === undefined || flags.measure) {
    const { policy, keyBytes } = question;
    figures = await measureFigures({
      clients: wanted,
      policy,
      keyBytes,
      store: order,
      seconds: flags.seconds,
      etcd: flags.etcd,
      progress,
    });
    const failed = figures.clients.find(({ errors }) => errors > 0);
    if (failed) process.stderr.write(`${failed.client}: ${failed.errors} requests failed while it was measured\n`);
  }
  const known = figures.clients.map(({ client }) => client);
  const missing = wanted.find((client) => !known.includes(client));
  if (missing !== undefined) {
    throw new BadUsage(`${flags.figures} has no figures of the client "${missing}". Add --measure to measure it.`);
  }
  let store = figures.stores.find((one) => isMeasuredFor(order, one));
  if (store === undefined) {
    store = await measureStoresApart(order, progress);
    figures = { ...figures, stores: [...figures.stores, store] };
  }
  if (flags.save !== undefined) await writeFile(flags.save, `${JSON.stringify(figures, null, 2)}\n`);
  return { figures, store };
}

function storeOrder(question: PlanQuestion): StoreOrder {
  const { policy, keyBytes, graceMs } = question;
  const keysPerStore = Math.max(1, Math.ceil(liveKeys(question) / shards));
  return { policy, keyBytes, graceMs, keysPerStore, checksPerKey: checksPerWindow(question), mostChecks };
}

async function mustBeWritable(file: string): Promise<void> {
  const isNew = !existsSync(file);
  try {
    await appendFile(file, '');
    if (isNew) await rm(file);
  } catch (error) {
    throw new BadUsage(`--save must name a file that can be written: ${(error as Error).message}`);
  }
}

async function readFigures(file: string): Promise<PlanFigures> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new BadUsage(`--figures must name a file that can be read: ${(error as Error).message}`);
  }
  const figures = readPlanFigures(text);
  if (typeof figures === 'string')
    throw new BadUsage(`--figures must name a file of figures; ${file} is none: ${figures}.`);
  return figures;
}
