import { type Bench, standardCases } from '../../../../../bench/cases.ts';
import { slidingWindow } from './sliding-window.ts';

const bench: Bench = { name: 'sliding-window', cases: standardCases(slidingWindow) };
export default bench;
