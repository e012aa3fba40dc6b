// One lap: so many members, a hundred calls under way, and for each that ends another is picked.
import { contenders } from './contenders.mjs';

const [name = '', count = ''] = process.argv.slice(2);
const members = Array.from({ length: Number(count) }, (_, i) => `10.0.${i >> 8}.${i & 255}:8080`);
const pick = contenders[name]?.(members);
if (pick === undefined) throw new Error(`there is no ${name}`);

const runUpMs = 300;
const lapMs = 500;
const picksPerLook = 1000;
// More than any cache of keys holds, and made before.
const keys = Array.from({ length: 1 << 16 }, (_, i) => `user:${i}`);
const underWay = Array.from({ length: 100 }, () => pick('user'));
let at = 0;

/** Picks per second. @param {number} ms */
function lap(ms) {
  const startMs = performance.now();
  let nowMs = startMs;
  let picks = 0;
  for (; nowMs - startMs < ms; nowMs = performance.now()) {
    for (let i = 0; i < picksPerLook; i += 1) {
      at = at + 1 === underWay.length ? 0 : at + 1;
      underWay[at]?.done();
      underWay[at] = /** @type {NonNullable<typeof pick>} */ (pick)(/** @type {string} */ (keys[(picks + i) & 0xffff]));
    }
    picks += picksPerLook;
  }
  return (1000 * picks) / (nowMs - startMs);
}

lap(runUpMs);
globalThis.gc?.();
process.send?.({ perSecond: lap(lapMs) });
