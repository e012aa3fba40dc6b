/** What a client is told when a command cannot be answered. The first word is a code, as in Redis: clients match on it. */
import { SluiceError } from 'sluice';
import { forCallers } from '../service/for-callers.ts';
import { ThrottleError } from '../service/throttle.ts';

/** Wrong use of a command; the message needs no code when it is the plain ERR. */
export class CommandError extends Error {
  readonly code: string;

  constructor(message: string, code = 'ERR') {
    super(message);
    this.name = 'CommandError';
    this.code = code;
  }
}

/** The line of the error; undefined where nobody expected it, and the operator should hear rather than the client. */
export function errorReply(error: unknown): string | undefined {
  if (error instanceof ThrottleError) return error.message;
  if (error instanceof CommandError) return `${error.code} ${error.message}`;
  if (error instanceof SluiceError) return `${codeOf(error)} ${forCallers(error.message)}`;
  return undefined;
}

function codeOf({ code }: SluiceError): string {
  return code === 'store-unavailable' || code === 'circuit-open' ? 'UNAVAILABLE' : 'ERR';
}

export function wrongArity(command: string): CommandError {
  return new CommandError(`wrong number of arguments for '${command}' command`);
}

export function syntaxError(): CommandError {
  return new CommandError('syntax error');
}
