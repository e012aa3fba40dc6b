import type { EnvoyRules } from './envoy-rules.ts';

/** One line for each limit, as `/rlconfig` of `envoyproxy/ratelimit` prints them, in the order of the files. */
export function describeRules({ limits }: EnvoyRules): string {
  return limits
    .map(({ compositeKey, rate, isShadow, isQuota }) => {
      const { unit, requestsPerUnit } = rate ?? { unit: 'UNKNOWN', requestsPerUnit: 0 };
      const modes = `shadow_mode: ${isShadow}, quota_mode: ${isQuota}`;
      return `${compositeKey}: unit=${unit} requests_per_unit=${requestsPerUnit}, ${modes}\n`;
    })
    .join('');
}
