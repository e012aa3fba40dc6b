/** Commands such as CLIENT and CLUSTER, whose second word says what to do. */
import { CommandError } from '../error-reply.ts';
import type { Turn } from '../turn.ts';

/** Runs the subcommand that the second word names; the keys are in lower case. */
export function oneOf(command: string, subcommands: Readonly<Record<string, (turn: Turn) => void>>) {
  return (turn: Turn): void => {
    const word = turn.text(1).slice(0, 128);
    const name = word.toLowerCase();
    const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
    if (subcommand === undefined) {
      throw new CommandError(
        `unknown subcommand '${word}'. ${command.toUpperCase()} knows ${Object.keys(subcommands).join(', ').toUpperCase()}.`,
      );
    }
    subcommand(turn);
  };
}
