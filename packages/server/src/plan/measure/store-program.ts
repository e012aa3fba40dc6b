/** `measureStores` as a process: an order as JSON in its argument, figures as JSON on standard output. Needs `--expose-gc`. */
import { measureStores, type StoreOrder } from './store-figures.ts';

const [order] = process.argv.slice(2);
const collect = globalThis.gc;
if (order === undefined || collect === undefined) {
  throw new Error('It needs its order, as JSON, in its first argument, and --expose-gc.');
}
process.stdout.write(`${JSON.stringify(measureStores(JSON.parse(order) as StoreOrder, () => collect()))}\n`);
