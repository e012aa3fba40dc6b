/** What the demonstration was asked to do. A wrong argument is a sentence for the user, not a stack trace. */
export interface Options {
  readonly seed: number;
  readonly seconds: number;
  readonly format: 'text' | 'json';
}

/** Demonstrations that nobody can ask to last longer. */
const others = ['overload', 'balance'] as const;

export type Request =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'overload'; readonly options: Omit<Options, 'seconds'> }
  | { readonly kind: 'balance'; readonly options: Omit<Options, 'seconds'> }
  | { readonly kind: 'help' }
  | { readonly kind: 'error'; readonly message: string };

export const shortestSeconds = 10;
export const longestSeconds = 120;
const defaults: Options = { seed: 1, seconds: 40, format: 'text' };

export const helpText = `Traffic of three clients through each of Sluice's algorithms, in simulated time.

usage: npm run demo -- [options]
       npm run demo -- overload [options]    instead: a service at three times what it can do, with and without
                                             retry budgets and adaptive throttles; takes half a minute
       npm run demo -- balance [options]     instead: the balancers beside what theory says of them; takes as long

  --seed n       what all randomness comes from, a whole number (default ${defaults.seed})
  --seconds n    how long the traffic lasts, ${shortestSeconds} to ${longestSeconds} (default ${defaults.seconds}); not of the others
  --json         print the numbers as JSON instead of drawing them
  --help         print this

Colours are used on a terminal, unless NO_COLOR is set.
`;

export function parseArguments(args: readonly string[]): Request {
  const kind = others.find((name) => name === args[0]);
  if (kind === undefined) return parseOptions(args);
  if (args.some((arg) => /^--seconds(=|$)/.test(arg))) return error(`--seconds is not for ${kind}.`);
  const request = parseOptions(args.slice(1));
  if (request.kind !== 'run') return request;
  const { seed, format } = request.options;
  return { kind, options: { seed, format } };
}

/** Reads `--name value` and `--name=value`. */
function parseOptions(args: readonly string[]): Request {
  let options = defaults;
  const rest = args.flatMap((arg) => (/^--\w+=/.test(arg) ? splitOnce(arg) : [arg]));
  while (rest.length > 0) {
    const name = rest.shift();
    if (name === '--help' || name === '-h') return { kind: 'help' };
    if (name === '--json') {
      options = { ...options, format: 'json' };
    } else if (name === '--seed' || name === '--seconds') {
      const range =
        name === '--seed' ? ([0, Number.MAX_SAFE_INTEGER] as const) : ([shortestSeconds, longestSeconds] as const);
      const value = rest.shift();
      const number = wholeNumber(value, range);
      if (number === undefined)
        return error(`${name} must be a whole number from ${range.join(' to ')}, got ${shown(value)}.`);
      options = { ...options, [name.slice(2)]: number };
    } else {
      return error(`There is no argument ${shown(name)}.`);
    }
  }
  return { kind: 'run', options };
}

function splitOnce(arg: string): [name: string, value: string] {
  const at = arg.indexOf('=');
  return [arg.slice(0, at), arg.slice(at + 1)];
}

function wholeNumber(text: string | undefined, [min, max]: readonly [number, number]): number | undefined {
  // Digits only: Number('') is 0, and Number('1e1') is not what anyone meant.
  if (text === undefined || !/^\d+$/.test(text)) return undefined;
  const number = Number(text);
  return number >= min && number <= max ? number : undefined;
}

function shown(value: string | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

function error(message: string): Request {
  return { kind: 'error', message: `${message} See --help.` };
}
