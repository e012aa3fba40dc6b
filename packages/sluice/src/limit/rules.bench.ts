import {
  type Bench,
  type BenchCase,
  crawlMs,
  floor,
  halfRateMs,
  hotKey,
  manyKeys,
  perMinute,
  perMonth,
  SteppingClock,
} from '../../../../bench/cases.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { limiter } from './limiter.ts';
import { type Rule, rules } from './rules.ts';
import type { Subject } from './subject.ts';

const subjects = (users: readonly string[]): Subject[] =>
  users.map((user, i) => ({ user, ip: `198.51.${i >> 8}.${i & 255}`, path: '/orders', tier: 'paid' }));

const roomy = gcra({ limit: 10_000_000, window: '1m' });
const perUser: Rule = { name: 'per-user', key: 'user', policy: gcra(perMinute) };
const fourRules: Rule[] = [
  { name: 'all', policy: roomy },
  { name: 'per-ip', key: 'ip', policy: gcra(perMinute) },
  perUser,
  { name: 'orders', key: ['user', 'path'], match: { path: '/orders*' }, policy: gcra(perMinute) },
];
// The first three have room; none of them may be charged for what the last refuses.
const lastRefuses = fourRules.map((rule, i): Rule => ({ ...rule, policy: i < 3 ? roomy : gcra(perMonth) }));

function checks(name: string, list: Rule[], who: Subject[], stepMs: number, allowed: boolean): BenchCase {
  const clock = new SteppingClock(crawlMs);
  const guard = rules(list, { clock });
  // All keys come in before the first can be forgotten, and what is to be refused is used up.
  for (const subject of who) while (guard.check(subject).allowed && !allowed);
  clock.stepMs = stepMs;
  let turn = 0;
  return {
    name,
    run(iterations) {
      for (let i = 0; i < iterations; i++) {
        turn = turn + 1 < who.length ? turn + 1 : 0;
        if (guard.check(who[turn] as Subject).allowed !== allowed) throw new Error(`${name}: the answer was wrong`);
      }
    },
  };
}

/** What the batch replaces: four limiters asked in turn, which charges the first three for what the fourth refuses. */
function oneByOne(name: string): BenchCase {
  const four = fourRules.map(({ policy }) =>
    limiter(policy as ReturnType<typeof gcra>, { clock: new SteppingClock(halfRateMs(perMinute)) }),
  );
  return {
    name,
    run(iterations) {
      for (let i = 0; i < iterations; i++) {
        if (!four.every((one) => one.allow('key-0'))) throw new Error(`${name}: the answer was wrong`);
      }
    },
  };
}

const [one, many] = [subjects(hotKey), subjects(manyKeys)];

const bench: Bench = {
  name: 'rules',
  cases: [
    floor('floor: Map get and set, 1 key', hotKey),
    checks('1 rule', [perUser], one, halfRateMs(perMinute), true),
    checks('4 rules', fourRules, one, halfRateMs(perMinute), true),
    checks('4 rules, 10,000 subjects', fourRules, many, halfRateMs(perMinute, manyKeys), true),
    checks('4 rules, the last refuses', lastRefuses, one, crawlMs, false),
    oneByOne('4 limiters, one by one'),
  ],
};
export default bench;
