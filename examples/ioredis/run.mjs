// Asks a service with ioredis. The keys are new in each run, so that it always shows the same.
import { Redis } from 'ioredis';

const port = Number(process.argv[2] ?? 6380);
// An answer that does not come must not become a grant: give up soon, and say so.
const redis = new Redis({ port, host: '127.0.0.1', commandTimeout: 1000, maxRetriesPerRequest: 1 });
const user = `ioredis-${process.pid}-${Date.now()}`;

/** @returns {Promise<{ allowed: boolean, remaining: number }>} */
async function check(/** @type {string} */ rule, /** @type {string} */ key) {
  const [allowed, , remaining] = /** @type {number[]} */ (await redis.call('SLUICE.CHECK', rule, key));
  return { allowed: allowed === 1, remaining: remaining ?? 0 };
}

console.log('# one rule, four times');
for (let i = 0; i < 4; i += 1) console.log(await check('per-user', user));

console.log('# CL.THROTTLE, a hundred at once over one connection: ten pass');
const pipeline = redis.pipeline();
for (let i = 0; i < 100; i += 1) pipeline.call('CL.THROTTLE', user, 9, 1, 3600);
const replies = (await pipeline.exec()) ?? [];
for (const [error] of replies) if (error) throw error;
console.log(replies.filter(([, reply]) => /** @type {number[]} */ (reply)[0] === 0).length, 'of', replies.length);

await redis.quit();
