import type { Bench } from '../../../../bench/cases.ts';
import { naiveCase, readerCase } from './log-reader.test-support.ts';
import { jsonLine, naiveJson } from './naive-reader.test-support.ts';

const bench: Bench = {
  name: 'log reader, JSON lines: an operation is a line',
  cases: [
    naiveCase('text, split, JSON.parse, Date.parse', jsonLine, naiveJson),
    readerCase('JSON lines', jsonLine),
    readerCase('JSON lines, by client and host', jsonLine, { options: { key: 'client+host' } }),
  ],
};
export default bench;
