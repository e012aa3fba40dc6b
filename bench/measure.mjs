// Measures one bundled benchmark file and prints its medians as JSON; suites.mjs starts it, one process per file.
//
// The rounds of all cases are interleaved, A B C A B C, so that a machine that slows down half-way slows them all.
import { pathToFileURL } from 'node:url';
import { median } from './table.mjs';

const roundNs = 30e6;

const [file = '', rounds = '11'] = process.argv.slice(2);
/** @type {{ name: string, cases: { name: string, run(iterations: number): void }[] }} */
const suite = (await import(pathToFileURL(file).href)).default;

const cases = suite.cases.map((subject) => ({ subject, iterations: 1, nsPerOperation: /** @type {number[]} */ ([]) }));

// Doubling until a round is long enough to time also warms the code up. Twice in a row: the first call, or a busy machine, may take long for once.
for (const each of cases) {
  while (Math.min(timeNs(each), timeNs(each)) < roundNs) each.iterations *= 2;
}
for (let round = 0; round < Number(rounds); round++) {
  for (const each of cases) {
    globalThis.gc?.();
    each.nsPerOperation.push(timeNs(each) / each.iterations);
  }
}

const report = cases.map(({ subject, nsPerOperation }) => ({
  name: subject.name,
  nsPerOperation: median(nsPerOperation),
}));
console.log(JSON.stringify({ name: suite.name, cases: report }));
// A case may hold timers or sockets open; the figures are in.
process.exit(0);

/** @param {{ subject: { run(iterations: number): void }, iterations: number }} each */
function timeNs({ subject, iterations }) {
  const start = process.hrtime.bigint();
  subject.run(iterations);
  return Number(process.hrtime.bigint() - start);
}
