import type { Bench } from '../../../../bench/cases.ts';
import { naiveCase, readerCase } from './log-reader.test-support.ts';
import { csvLine, csvNames, naiveCsv } from './naive-reader.test-support.ts';

const bench: Bench = {
  name: 'log reader, CSV: an operation is a line',
  cases: [
    naiveCase('text, split, split at commas', csvLine, naiveCsv),
    readerCase('CSV', csvLine, { header: csvNames }),
  ],
};
export default bench;
