// Who takes part in the comparison, and what each has to offer.
import * as floors from './contenders/floors.mjs';
import * as peers from './contenders/peers.mjs';
import * as ours from './contenders/sluice.mjs';

/**
 * At most `limit` at once, for all; `perWindow` is how much of it comes back, for those that tell the two apart.
 * @typedef {{ limit: number, perWindow: number, windowMs: number, keys: number, maxKeys: number }} Setting
 *
 * One of `check`, `checkAsync`: whether the call may go. `fill` where the measured call does not make its key; `size`, how many
 * there are, where one can ask.
 * @typedef {{
 *   check?(key: string): boolean,
 *   checkAsync?(key: string): Promise<boolean>,
 *   checkBytes?(bytes: Uint8Array, start: number, end: number): boolean,
 *   fill?(key: string): void,
 *   size?(): number,
 * }} Subject
 *
 * @typedef {{ create(setting: Setting): Subject, createRules?(setting: Setting, count: number): Subject }} Contender
 */

/** By the name it is printed under. @type {Record<string, Contender>} */
export const contenders = {
  'sluice check': ours.sluice,
  'sluice allow': ours.sluiceAllow,
  'sluice check, fingerprint': ours.sluiceFingerprint,
  'sluice allow, fingerprint': ours.sluiceFingerprintAllow,
  'sluice check, tick clock': ours.sluiceTick,
  'sluice check, fingerprint, tick clock': ours.sluiceTickFingerprint,
  'sluice allow, fingerprint, tick clock': ours.sluiceTickFingerprintAllow,
  'rate-limiter-flexible': peers.rateLimiterFlexible,
  'express-rate-limit': peers.expressRateLimit,
  '@fastify/rate-limit': peers.fastifyRateLimit,
  limiter: peers.limiterPeer,
  'hono-rate-limiter': peers.honoRateLimiter,
  '@nestjs/throttler': peers.nestThrottler,
  'Map.get': floors.bareMap,
  'Map.get and clock': floors.bareMapWithClock,
  'hash and one touch': floors.hashAndTouch,
  'empty loop': floors.nothing,
};

export const peerNames = [
  'rate-limiter-flexible',
  'express-rate-limit',
  '@fastify/rate-limit',
  'limiter',
  'hono-rate-limiter',
  '@nestjs/throttler',
];
