/** `npm run demo`: Sluice at work, drawn in the terminal. Nothing sleeps: all time is simulated. */
import { compare } from '../overload/comparison.ts';
import { standard } from '../overload/overload.ts';
import { helpText, parseArguments } from './arguments.ts';
import { balanceJson, balanceLines } from './balance-report.ts';
import { experiment } from './experiment.ts';
import { reportJson } from './json.ts';
import { overloadJson, overloadLines } from './overload-report.ts';
import { paintFor } from './paint.ts';
import { reportLines } from './report.ts';

const { stdout, stderr, env } = process;

// `npm run demo | head` closes the pipe early, which is no error of ours.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const paint = paintFor(stdout.isTTY === true, env.NO_COLOR);
const request = parseArguments(process.argv.slice(2));
if (request.kind === 'error') {
  stderr.write(`${request.message}\n`);
  // Not exit(): what was written to a pipe would be cut off.
  process.exitCode = 2;
} else if (request.kind === 'help') {
  stdout.write(helpText);
} else if (request.kind === 'overload') {
  const { seed, format } = request.options;
  const rows = compare(standard.queueLength, seed);
  if (format === 'json') stdout.write(`${await overloadJson(rows, seed)}\n`);
  else for await (const line of overloadLines(rows, seed, paint)) stdout.write(`${line}\n`);
} else if (request.kind === 'balance') {
  const { seed, format } = request.options;
  if (format === 'json') stdout.write(`${balanceJson(seed)}\n`);
  else for (const line of balanceLines(seed, paint)) stdout.write(`${line}\n`);
} else {
  const result = experiment(request.options);
  const page = request.options.format === 'json' ? reportJson(result) : reportLines(result, paint).join('\n');
  stdout.write(`${page}\n`);
}
