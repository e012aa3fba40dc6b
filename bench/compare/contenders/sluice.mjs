// Ours: GCRA in the three ways that matter. `check` makes a decision, as the peers do; `allow` only answers.
import { gcra, limiter, memoryStore, monotonicClock, rules, tickClock } from 'sluice';

/** @typedef {import('../contender.mjs').Setting} Setting */

/** @param {Setting} setting */
function policyOf({ limit, perWindow, windowMs }) {
  return gcra({ limit: perWindow, window: windowMs, burst: limit });
}

/**
 * @param {'exact' | 'fingerprint'} keys
 * @param {() => import('sluice').Clock} clockOf
 * @param {'check' | 'allow'} method
 * @returns {import('../contender.mjs').Contender}
 */
function contender(keys, clockOf, method) {
  return {
    create(setting) {
      const store = memoryStore({ maxKeys: setting.maxKeys, keys, clock: clockOf() });
      const subject = limiter(policyOf(setting), { store });
      return {
        check: method === 'check' ? (key) => subject.check(key).allowed : (key) => subject.allow(key),
        checkBytes: (bytes, start, end) => subject.allowBytes(bytes, start, end),
        size: () => store.stats().keys,
      };
    },
    createRules(setting, count) {
      const policy = policyOf(setting);
      const store = memoryStore({ maxKeys: setting.maxKeys, keys, clock: clockOf() });
      const names = Array.from({ length: count }, (_, i) => `rule-${i}`);
      const subject = rules(
        names.map((name, i) => ({ name, policy, key: `field${i}` })),
        { store },
      );
      return {
        check: (key) => subject.check({ field0: key, field1: key, field2: key, field3: key }).allowed,
      };
    },
  };
}

const exact = () => monotonicClock;
const perTick = () => tickClock();

export const sluice = contender('exact', exact, 'check');
export const sluiceAllow = contender('exact', exact, 'allow');
export const sluiceFingerprint = contender('fingerprint', exact, 'check');
export const sluiceFingerprintAllow = contender('fingerprint', exact, 'allow');
export const sluiceTick = contender('exact', perTick, 'check');
export const sluiceTickFingerprint = contender('fingerprint', perTick, 'check');
export const sluiceTickFingerprintAllow = contender('fingerprint', perTick, 'allow');
