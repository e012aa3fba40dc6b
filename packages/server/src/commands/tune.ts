/** `sluice tune`: reads access logs and says which limits fit them. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type TuneOptions, tune } from '../tune/tune.ts';

export function tuneCommand(): Command {
  return new Command('tune')
    .description(
      'Reads access logs and says who calls how often, what a policy would have refused, and which limits fit.',
    )
    .argument('<log...>', 'files in any order, also gzipped, each in a format of its own; - is standard input')
    .option(
      '--key <field>',
      'who is counted: ip (default), user, route, all, a field of the log, or several: user+route',
    )
    .addOption(new Option('--format <name>', 'of the log').choices(['auto', 'combined', 'common', 'json', 'csv']))
    .option('--time <field>', 'the field of the time (default: one of the usual names)')
    .option('--cost <field>', 'the field of the cost, or several whose sum it is (default: each call costs 1)')
    .option('--status <field>', "the field of HTTP's status (default: one of the usual names)")
    .option('--route <field>', 'the field of what was called (default: method and path)')
    .addOption(
      new Option(
        '--ipv6-subnet <bits>',
        'IPv6 addresses count by networks of so many (default: as in --config, else 56)',
      ).argParser(bitsOf),
    )
    .option('--window <times>', 'of the limits to look for (default: 1m,1h)')
    .option('--refuse <share>', 'what a limit may refuse, such as 0.1% (default)')
    .addOption(new Option('--of <what>', 'a share of what (default: calls)').choices(['calls', 'clients']))
    .option('--algorithm <names>', 'look for limits of these only, such as gcra,sliding-log')
    .option('--policy <json>', 'also say what this policy would have refused')
    .option('--config <file>', 'the same for a rule of a configuration')
    .option('--rule <name>', 'which rule of it')
    .option('--tier <name>', 'which tier of the rule')
    .addOption(new Option('--top <count>', 'how many clients and routes are named (default: 10)').argParser(topOf))
    .option('--max-memory <size>', 'a log that does not fit is thinned by clients (default: 1GB)')
    .option('--json', 'print JSON')
    .option('--yaml', 'print nothing but the rule')
    .addHelpText(
      'after',
      `
  sluice tune /var/log/nginx/access.log*
  zcat access.log.*.gz | sluice tune - --key user --refuse 0.5% --of clients
  sluice tune access.log --policy '{"algorithm":"gcra","limit":100,"window":"1m","burst":20}'
  sluice tune access.log --config sluice.yaml --rule per-ip
  sluice tune access.log --yaml > sluice.yaml && sluice validate sluice.yaml

Nothing leaves this machine, and the log is not kept. Exit codes: 0 ok, 2 bad usage, a log that cannot be read, or nothing in it.`,
    )
    .action(run);
}

async function run(logs: string[], flags: Omit<TuneOptions, 'logs'>): Promise<void> {
  const { env: environment, stdout, stderr } = process;
  process.exitCode = await tune({ ...flags, logs }, { environment, stdout, stderr });
}

const whole = (text: string, from: number, to: number): number => {
  const value = Number(text);
  const isRight = text.trim() !== '' && Number.isInteger(value) && value >= from && value <= to;
  if (!isRight) throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  return value;
};

const topOf = (text: string) => whole(text, 1, 1000);
const bitsOf = (text: string) => whole(text, 32, 128);
