/** The generator as a process: an order as JSON in its argument, a report as JSON on standard output. */
import { generate } from './generate.ts';
import type { LoadOrder } from './load-order.ts';

const [order] = process.argv.slice(2);
if (order === undefined) throw new Error('The generator needs its order, as JSON, in its first argument.');
const before = process.cpuUsage();
const report = await generate(JSON.parse(order) as LoadOrder);
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${JSON.stringify({ ...report, processorMs: (user + system) / 1000 })}\n`);
