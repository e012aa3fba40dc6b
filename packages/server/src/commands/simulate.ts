/** `sluice simulate`: a scenario in simulated time, drawn, and its claims put to the proof. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { SluiceError } from 'sluice';
import { interruptedCode, type SimulateOptions, simulate } from '../simulate/simulate.ts';
import { typedTime } from '../terminal/typed-time.ts';

export function simulateCommand(): Command {
  return new Command('simulate')
    .description('Runs traffic through limits, schedulers, balancers and breakers in simulated time, and draws it.')
    .argument('[scenario]', 'a YAML file, or the name of a ready scenario')
    .option('--list', 'list the ready scenarios')
    .option('--all', 'run every ready scenario, and say which claims hold')
    .addOption(new Option('--seed <number>', 'another chance than the scenario has').argParser(seedOf))
    .addOption(new Option('--duration <time>', 'another length than the scenario has, such as 5m').argParser(timeOf))
    .option('--json', 'print JSON')
    .option('--svg <file>', 'also write a picture')
    .option('--redis <address>', 'decide the limits in this Redis, not in memory')
    .addOption(
      new Option('--columns <count>', 'width of the text (default: the terminal, else 100)').argParser(columnsOf),
    )
    .addHelpText(
      'after',
      `
The same scenario and seed give the same result, on every machine. No time passes: an hour of traffic takes seconds.

  sluice simulate --list
  sluice simulate fixed-window-passes
  sluice simulate token-bucket-lasts --seed 7 --svg bucket.svg
  sluice simulate my-scenario.yaml --duration 5m --json
  sluice simulate --all
  sluice simulate strict-algorithms --redis redis://127.0.0.1:6379

With --redis the numbers of the limits live in Redis, under a prefix of their own, and are removed at the end. It decides as memory does; each
call is a question to it, so it takes longer.

A name of a ready scenario may be cut off where it is clear already.
Exit codes: 0 ok, 1 a claim of the scenario does not hold, 2 bad usage or scenario, 130 interrupted.`,
    )
    .action(run);
}

/** Whichever asks for the end, and a terminal that is closed does too: what was written into somebody's Redis goes before the program does. */
const interrupts = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function run(target: string | undefined, flags: Omit<SimulateOptions, 'target'>): Promise<void> {
  const { env: environment, stdout, stderr } = process;
  const interrupt = new AbortController();
  let leftover: string | undefined;
  const onLeftover = (sentence: string | undefined): void => {
    leftover = sentence;
  };
  const onInterrupt = (signal: NodeJS.Signals): void => {
    // The terminal is gone: there is nobody to tell, and failing to tell them must not keep the keys from being removed.
    if (signal === 'SIGHUP') stderr.on('error', () => {});
    if (interrupt.signal.aborted) {
      // Whoever asks again does not want to wait for a tidy end, and is told what is not tidy.
      if (leftover !== undefined) stderr.write(`${leftover}\n`);
      process.exit(interruptedCode);
    }
    interrupt.abort();
  };
  for (const signal of interrupts) process.on(signal, onInterrupt);
  try {
    const world = { environment, stdout, stderr, signal: interrupt.signal, onLeftover };
    process.exitCode = await simulate({ ...flags, target }, world);
  } finally {
    for (const signal of interrupts) process.off(signal, onInterrupt);
  }
  // All that can be done was done: the client of a Redis that stands still would go on waiting for it to say goodbye.
  if (interrupt.signal.aborted) process.exit(process.exitCode);
}

const whole = (text: string, from: number, to: number): number => {
  const value = Number(text);
  const isRight = text.trim() !== '' && Number.isInteger(value) && value >= from && value <= to;
  if (!isRight) throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  return value;
};

const seedOf = (text: string) => whole(text, 0, Number.MAX_SAFE_INTEGER);
const columnsOf = (text: string) => whole(text, 40, 400);

/** The scenario reads it; here it is only looked at, so that a slip is told as one of the command line. */
function timeOf(text: string): string {
  try {
    typedTime(text, 'It');
    return text;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new InvalidArgumentError(error.message);
  }
}
