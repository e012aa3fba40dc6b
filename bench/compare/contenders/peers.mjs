// The libraries people use today, each by the call that its own middleware makes for a request, on its own memory store.
import { createRequire } from 'node:module';

const requirePeer = createRequire(new URL('../../peers/package.json', import.meta.url));

/** @typedef {import('../contender.mjs').Contender} Contender */

/**
 * A peer checks many limits one after the other; none has all-or-nothing.
 * @param {Contender['create']} create
 * @returns {Contender}
 */
function peer(create) {
  return {
    create,
    createRules(setting, count) {
      const each = Array.from({ length: count }, () => create(setting));
      return {
        async checkAsync(key) {
          for (const one of each) {
            if (!(one.checkAsync ? await one.checkAsync(key) : one.check?.(key))) return false;
          }
          return true;
        },
      };
    },
  };
}

export const rateLimiterFlexible = peer(({ limit, windowMs }) => {
  const { RateLimiterMemory } = requirePeer('rate-limiter-flexible');
  const subject = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
  // A refusal is a rejected promise.
  return { checkAsync: (key) => subject.consume(key).then(isTrue, isFalse) };
});

const isTrue = () => true;
const isFalse = () => false;

export const expressRateLimit = peer(({ limit, windowMs }) => {
  const { MemoryStore } = requirePeer('express-rate-limit');
  const subject = new MemoryStore();
  subject.init({ windowMs });
  return { checkAsync: async (key) => (await subject.increment(key)).totalHits <= limit };
});

export const fastifyRateLimit = peer(({ limit, windowMs, maxKeys }) => {
  const LocalStore = requirePeer('@fastify/rate-limit/store/LocalStore.js');
  const subject = new LocalStore(false, false, maxKeys);
  let isAllowed = false;
  /** @param {unknown} _error @param {{ current: number }} result */
  const onResult = (_error, { current }) => {
    isAllowed = current <= limit;
  };
  return {
    check(key) {
      subject.incr(key, onResult, windowMs, limit);
      return isAllowed;
    },
  };
});

/** It limits one thing; a map makes it limit many, which is what its users write. */
export const limiterPeer = peer(({ limit, windowMs }) => {
  const { RateLimiter } = requirePeer('limiter');
  const byKey = new Map();
  return {
    check(key) {
      let one = byKey.get(key);
      if (one === undefined) {
        one = new RateLimiter({ tokensPerInterval: limit, interval: windowMs });
        byKey.set(key, one);
      }
      return one.tryRemoveTokens(1);
    },
  };
});

export const honoRateLimiter = peer(({ limit, windowMs }) => {
  const { MemoryStore } = requirePeer('hono-rate-limiter');
  const subject = new MemoryStore();
  subject.init({ windowMs });
  return { checkAsync: async (key) => (await subject.increment(key)).totalHits <= limit };
});

export const nestThrottler = peer(({ limit, windowMs }) => {
  requirePeer('reflect-metadata');
  const { ThrottlerStorageService } = requirePeer('@nestjs/throttler');
  const subject = new ThrottlerStorageService();
  return {
    checkAsync: async (key) => !(await subject.increment(key, windowMs, limit, 0, 'default')).isBlocked,
  };
});
