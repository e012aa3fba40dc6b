import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { rules } from '../limit/rules.ts';
import { TestClock } from '../testing/index.ts';
import type { Decision, Reason } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { problemBody, statusOf } from './problem-body.ts';

const perMinute = gcra({ limit: 100, window: '1m' });

function refusal(rule: string, reason: Reason, rest: Partial<Decision> = {}, policy: Policy = perMinute): Decision {
  const { limit } = policy;
  const numbers = { limit, remaining: 0, retryAfterMs: 600, resetAfterMs: 60_000, delayMs: 0 };
  return { allowed: false, ...numbers, rule, policy, reason, ...rest };
}

const never = { retryAfterMs: Number.POSITIVE_INFINITY };

describe('problemBody', () => {
  it('names the violated policies of a 429', () => {
    const clock = new TestClock(0);
    const one = gcra({ limit: 1, window: '20s' });
    const checked = rules(
      [
        { name: 'daily', policy: one },
        { name: 'roomy', policy: perMinute },
        { name: 'bandwidth', policy: gcra({ limit: 1, window: '1s' }) },
        { name: 'tried-out', policy: one, shadow: true },
      ],
      { clock },
    );
    checked.check({});
    expect(problemBody(checked.check({}))).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'daily allows 1 in 20 s. Try again in 20 s.',
      'violated-policies': ['daily', 'bandwidth'],
    });
  });

  // biome-ignore format: aligned rows
  it.each<[Decision, number, string]>([
    [ refusal('x', 'limit'),                              429, 'x allows 100 in 60 s. Try again in 1 s.' ],
    [ refusal('x', 'limit', {}, gcra({ limit: 1, window: 250 })), 429, 'x allows 1 in 250 ms. Try again in 1 s.' ],
    [ refusal('x', 'limit', {}, concurrency({ limit: 3 })), 429, 'x allows 3 at a time. Try again in 1 s.' ],
    [ refusal('x', 'limit', never), 429,
      'x never allows so much at once: 100 is the most. Ask for less.' ],
    [ refusal('x', 'blocked', { retryAfterMs: 90_000 }),  429, 'x blocks this key. Try again in 90 s.' ],
    [ refusal('x', 'blocked', never),                     429, 'x blocks this key. Waiting does not help.' ],
    [ refusal('x', 'store-full', never),                  503, 'x cannot count another key at the moment. Waiting does not help.' ],
    [ refusal('x', 'store-failure', never),               503,
      'x cannot tell at the moment what was used, and refuses meanwhile. Waiting does not help.' ],
    [ refusal('x', 'quarantine', never),                  503,
      'x cannot tell at the moment what was used, and refuses meanwhile. Waiting does not help.' ],
    [ refusal('x', 'store-full', { retryAfterMs: 1000 }), 503, 'x cannot count another key at the moment. Try again in 1 s.' ],
    [ refusal('x', 'store-failure', { degraded: 'closed' }), 503,
      'x cannot tell at the moment what was used, and refuses meanwhile. Try again in 1 s.' ],
    [ refusal('x', 'quarantine', { retryAfterMs: 61_000 }), 503,
      'x cannot tell at the moment what was used, and refuses meanwhile. Try again in 61 s.' ],
  ])('%# is a %i: %s', (decision, status, detail) => {
    expect(problemBody(decision)).toMatchObject({ status, detail, 'violated-policies': ['x'] });
    expect(statusOf(decision)).toBe(status);
  });

  it('is a 503 with a type of its own when only the store is at fault', () => {
    expect(problemBody(refusal('x', 'store-failure')).type).toBe(
      'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    );
  });

  it('is a 429 when a limit refused as well', () => {
    expect(statusOf([refusal('a', 'limit'), refusal('b', 'store-failure', { retryAfterMs: 5000 })])).toBe(429);
    expect(statusOf([refusal('a', 'limit', { shadow: true }), refusal('b', 'store-failure')])).toBe(503);
  });

  it('knows deny-lists, which have no policy', () => {
    const denied = rules([], { deny: { ip: '203.0.113.9' } }).check({ ip: '203.0.113.9' });
    expect(problemBody(denied)).toEqual({
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: 'The caller is on a deny-list.',
      'violated-policies': [],
    });
  });

  it('is for refusals', () => {
    const allowed = rules([{ name: 'x', policy: perMinute }]).check({});
    expect(statusOf(allowed)).toBe(200);
    expect(statusOf([...allowed.decisions, refusal('s', 'limit', { shadow: true })])).toBe(200);
    expect(() => problemBody(allowed)).toThrow('problemBody is for refusals, and nothing was refused.');
  });
});
