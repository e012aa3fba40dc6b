/** What stands between the callers and the servers, with the options that the library's own have. */
import { adaptiveThrottle, circuitBreaker, retry, retryBudget } from 'sluice/protect';
import { type Data, isRecord, type Problems } from './problems.ts';
import type { Protect } from './scenario.ts';

const retryFields = ['attempts', 'baseDelay', 'growth', 'maxDelay', 'budget'];
const throttleFields = ['k', 'window', 'rejectRatioMax', 'minRequests', 'answerWithin'];
const breakerFields = [
  'consecutiveFailures',
  'failureRatio',
  'window',
  'windowCalls',
  'minCalls',
  'slowAfter',
  'openFor',
  'openGrowth',
  'openForMax',
  'jitter',
  'probes',
  'probeTimeout',
];

export function parseProtect(data: unknown, place: string, problems: Problems): Protect {
  const fields = problems.record(place, data, ['retry', 'throttle', 'breaker', 'timeout']);
  if (isRecord(data) && Object.keys(data).length === 0)
    problems.add(place, 'must have one of its fields, or be left out.');
  const optionsOf = (field: string, known: readonly string[]): Data | undefined =>
    fields[field] === undefined ? undefined : problems.record(`${place}.${field}`, fields[field], known);
  const breaker = optionsOf('breaker', breakerFields);
  const throttle = optionsOf('throttle', throttleFields);
  // Each made once to see that it can be: the library says best what is wrong.
  if (breaker) problems.attempt(`${place}.breaker`, () => circuitBreaker(breaker));
  if (throttle) problems.attempt(`${place}.throttle`, () => adaptiveThrottle(throttle));
  const retrying = optionsOf('retry', retryFields);
  if (retrying) checkRetry(retrying, `${place}.retry`, problems);
  return {
    retry: retrying as Protect['retry'],
    throttle,
    breaker,
    timeoutMs: fields.timeout === undefined ? undefined : problems.duration(`${place}.timeout`, fields.timeout),
  };
}

function checkRetry({ budget, ...options }: Data, place: string, problems: Problems): void {
  problems.attempt(place, () => retry(options));
  if (budget === undefined || budget === 'none') return;
  const fields = problems.record(`${place}.budget`, budget, ['ratio', 'minPerSecond', 'window']);
  problems.attempt(`${place}.budget`, () => retryBudget(fields));
}
