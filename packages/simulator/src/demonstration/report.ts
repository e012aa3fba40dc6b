/** The page that `npm run demo` prints: a single pass of lines, at most 100 columns wide. */
import type { Outcome } from '../outcome.ts';
import { windowMs } from './contenders.ts';
import { arrivalsLine, axisLine, glyphs, type Mark, marksOf, type Scale, secondsText, tableLines } from './drawing.ts';
import type { ClientResult, Experiment, Result } from './experiment.ts';
import type { Paint } from './paint.ts';

export const pageColumns = 100;
const slices = 80;
const labelColumns = 8;
const indent = '  ';

export function reportLines(experiment: Experiment, paint: Paint): string[] {
  const scale: Scale = { slices, untilMs: experiment.options.seconds * 1000 };
  return [
    ...headerLines(experiment, scale, paint),
    ...experiment.results.flatMap((result) => ['', ...resultLines(result, scale, paint)]),
    '',
    ...summaryLines(experiment, paint),
    '',
    ...codeLines(paint),
  ];
}

function headerLines({ options, clients }: Experiment, scale: Scale, paint: Paint): string[] {
  const sliceMs = scale.untilMs / scale.slices;
  return [
    `${paint('strong', 'Sluice')}: three clients, nine algorithms, ${options.seconds} seconds of simulated time (seed ${options.seed})`,
    '',
    ...clients.map(({ name, habit }) => `${indent}${name.padEnd(labelColumns)}${habit}`),
    '',
    `${paint('strong', 'Arrivals')}, counted per slice of ${sliceMs} ms (+ is 10 or more)`,
    axis(scale, paint),
    ...clients.map(({ name, traffic }) => {
      const timesMs = [...traffic].map(({ atMs }) => atMs);
      return row(name, arrivalsLine(timesMs, scale), `${timesMs.length}`);
    }),
    '',
    `Answers: ${legend(paint)}`,
    'Every client has a limit of its own. At the right: how many were allowed of how many asked.',
    'Below each picture: its first refusal, with the fields of the decision.',
  ];
}

function legend(paint: Paint): string {
  const texts: readonly [Exclude<Mark, 'none'>, string][] = [
    ['allowed', 'allowed'],
    ['delayed', 'allowed after a delay'],
    ['mixed', 'some allowed, some refused'],
    ['refused', 'refused'],
  ];
  return texts.map(([mark, text]) => `${paint(mark, glyphs[mark])} ${text}`).join('   ');
}

function resultLines(result: Result, scale: Scale, paint: Paint): string[] {
  return [
    `${paint('strong', result.expression)}  ${paint('faint', result.remark)}`,
    axis(scale, paint),
    ...result.perClient.map((each) => clientLine(each, scale, paint)),
    ...(result.firstRefusal === undefined ? [] : [`${indent}${refusalText(result.firstRefusal)}`]),
  ];
}

function clientLine({ client, history, counts }: ClientResult, scale: Scale, paint: Paint): string {
  const timeline = marksOf(history, scale).map((mark) => (mark === 'none' ? ' ' : paint(mark, glyphs[mark])));
  return row(client, timeline.join(''), `${counts.allowed}/${counts.asked}`);
}

function row(label: string, timeline: string, count: string): string {
  return `${indent}${label.padEnd(labelColumns)}${timeline} ${count}`;
}

function axis(scale: Scale, paint: Paint): string {
  return `${' '.repeat(indent.length + labelColumns)}${paint('faint', axisLine(scale, windowMs))}`;
}

/** A refusal as the program sees it: the fields of the decision, by their names. */
function refusalText({ key, atMs, decision }: Outcome): string {
  const { limit, remaining, retryAfterMs, resetAfterMs } = decision;
  const fields = { limit, remaining, retryAfterMs, resetAfterMs };
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return `${key} refused at ${(atMs / 1000).toFixed(2)} s: { ${text.join(', ')} }`;
}

function summaryLines({ results }: Experiment, paint: Paint): string[] {
  const head = ['algorithm', 'asked', 'allowed', 'refused', 'delayed', 'worst 10 s', 'delayMs max', 'retryAfterMs max'];
  const [title = '', ...lines] = tableLines([head, ...results.map(summaryRow)]);
  return [
    paint('strong', 'Summary'),
    paint('faint', title),
    ...lines,
    '',
    '"worst 10 s" is the most calls of one client that went in any 10 seconds, delays included.',
    'Only sliding-log and sliding-slots promise the limit itself; a bucket promises burst + rate * time.',
  ];
}

function summaryRow({ policy, counts, worstWindow }: Result): string[] {
  const { asked, allowed, refused, delayed, delayMsMax, retryAfterMsMax } = counts;
  const numbers = [asked, allowed, refused, delayed, worstWindow].map(String);
  return [policy.algorithm, ...numbers, secondsText(delayMsMax), secondsText(retryAfterMsMax)];
}

function codeLines(paint: Paint): string[] {
  return [
    paint('strong', 'In your code'),
    `${indent}import { gcra, limiter } from 'sluice';`,
    `${indent}const limit = limiter(gcra({ limit: 10, window: '10s', burst: 5 }));`,
    `${indent}const { allowed, retryAfterMs } = limit.check('alice');`,
  ];
}
