/** The `sluice` command. */
import { Command, CommanderError } from 'commander';
import { version } from './version.ts';

/** Each is loaded only when it is asked for, or when all have to be listed. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.ts')).serveCommand(),
  gateway: async () => (await import('./commands/gateway.ts')).gatewayCommand(),
  check: async () => (await import('./commands/check.ts')).checkCommand(),
  validate: async () => (await import('./commands/validate.ts')).validateCommand(),
  bench: async () => (await import('./commands/bench.ts')).benchCommand(),
  plan: async () => (await import('./commands/plan.ts')).planCommand(),
  tune: async () => (await import('./commands/tune.ts')).tuneCommand(),
  simulate: async () => (await import('./commands/simulate.ts')).simulateCommand(),
};

const program = new Command('sluice')
  .description('Traffic control: a rate-limit service for curl, Envoy and every Redis client, and a gateway.')
  .version(version)
  .showHelpAfterError('(add --help for the options)')
  // Thrown instead of ending the process here, so that bad usage ends with 2 as documented.
  .exitOverride();

const [, , first = ''] = process.argv;
// `sluice constructor` is no command, though every object has one.
const asked = Object.hasOwn(commands, first) ? commands[first] : undefined;
const loaded = asked ? [await asked()] : await Promise.all(Object.values(commands).map((load) => load()));
for (const command of loaded) program.addCommand(command.copyInheritedSettings(program));
program.addHelpText('after', '\nExit codes: 0 ok, 1 refused or failed, 2 bad usage or configuration.');

// `sluice --help | head`: whoever read has had enough. What serves goes on without.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Asking for help or the version is no mistake.
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
