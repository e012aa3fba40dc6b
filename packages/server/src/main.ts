#!/usr/bin/env node
/** The `sluice` command. */
import { Command, CommanderError } from 'commander';
import { benchCommand } from './commands/bench.ts';
import { checkCommand } from './commands/check.ts';
import { serveCommand } from './commands/serve.ts';
import { validateCommand } from './commands/validate.ts';
import { version } from './version.ts';

const program = new Command('sluice')
  .description('Traffic control: a rate-limit service for curl, Envoy and every Redis client.')
  .version(version)
  .showHelpAfterError('(add --help for the options)')
  // Thrown instead of ending the process here, so that bad usage ends with 2 as documented.
  .exitOverride();

for (const command of [serveCommand(), checkCommand(), validateCommand(), benchCommand()]) {
  program.addCommand(command.copyInheritedSettings(program));
}
program.addHelpText('after', '\nExit codes: 0 ok, 1 refused or failed, 2 bad usage or configuration.');

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Asking for help or the version is no mistake.
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
