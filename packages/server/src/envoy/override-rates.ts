/**
 * Limits that come with requests. A store keeps what it knows of a policy for as long as keys live under it, so the number of
 * different ones in use has a bound: whoever sends a new limit with each request must not fill the memory.
 */
import { type Clock, SluiceError } from 'sluice';
import type { ConfiguredRate } from './envoy-rules.ts';
import { largestUint32, plainPolicy } from './load-limit.ts';
import type { Unit } from './rate-limit-message.ts';
import { type KnownUnit, unitSeconds } from './unit.ts';

const most = 1_000;

interface Used {
  readonly rate: ConfiguredRate;
  usedMs: number;
}

/** The rate of an override: always a fixed window, and without a name. `what` is what errors call it. */
export type OverrideRates = (
  limit: { readonly requestsPerUnit: number; readonly unit: Unit },
  what: string,
) => ConfiguredRate;

export function overrideRates(clock: Clock): OverrideRates {
  const rates = new Map<string, Used>();

  /** Nothing can be left of a window that has ended. */
  function forgetEnded(nowMs: number): void {
    for (const [text, { rate, usedMs }] of rates) {
      if (usedMs + unitSeconds[rate.unit] * 1000 <= nowMs) rates.delete(text);
    }
  }

  return ({ requestsPerUnit, unit }, what) => {
    const nowMs = clock.now();
    const text = `${requestsPerUnit}/${unit}`;
    const known = rates.get(text);
    if (known) {
      known.usedMs = nowMs;
      return known.rate;
    }
    const rate = rateOf(requestsPerUnit, unit, what);
    if (rates.size >= most) forgetEnded(nowMs);
    if (rates.size >= most) {
      const message = `${what} is one of more than ${most} different limits that came with requests within their own windows. Configure limits, or send fewer different ones.`;
      throw new SluiceError('store-full', message);
    }
    rates.set(text, { rate, usedMs: nowMs });
    return rate;
  };
}

function rateOf(requestsPerUnit: number, unit: Unit, what: string): ConfiguredRate {
  if (!(unit in unitSeconds)) {
    // Envoy's messages have no week for an override.
    const known = Object.keys(unitSeconds)
      .filter((name) => name !== 'WEEK')
      .join(', ');
    throw new SluiceError('invalid-option', `${what}.unit must be one of ${known}, got ${unit}.`);
  }
  if (!Number.isInteger(requestsPerUnit) || requestsPerUnit < 0 || requestsPerUnit > largestUint32) {
    const mustBe = `a whole number from 0 to ${largestUint32}`;
    throw new SluiceError('invalid-option', `${what}.requests_per_unit must be ${mustBe}, got ${requestsPerUnit}.`);
  }
  const known = unit as KnownUnit;
  const current = { requestsPerUnit, unit: known, name: '' };
  return { unit: known, requestsPerUnit, policy: plainPolicy(known, requestsPerUnit), current };
}
