import type { Bench } from '../../../../bench/cases.ts';
import { naiveCase, readerCase } from './log-reader.test-support.ts';
import { combinedLine, commonLine, naiveCombined } from './naive-reader.test-support.ts';

const bench: Bench = {
  name: 'log reader, combined: an operation is a line',
  cases: [
    naiveCase('text, split, a regular expression, Date.parse', combinedLine, naiveCombined),
    readerCase('combined', combinedLine),
    readerCase('common', commonLine),
    readerCase('combined, by user agent', combinedLine, { options: { key: 'user_agent' } }),
  ],
};
export default bench;
