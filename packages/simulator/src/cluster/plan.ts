/** What a seed stands for: the cluster, its rules, the demand, the weather, and what goes wrong when. */
import { concurrency, gcra, type Policy, slidingLog, slidingSlots, tokenBucket } from 'sluice';
import type { ClusterSettings } from 'sluice-server/cluster';
import { type Random, random } from '../random.ts';
import type { CallerOptions } from './caller.ts';
import { type Fault, faultsOf, type Theme, themeNames } from './faults.ts';
import { fairWeather, type Weather } from './network.ts';
import type { Asked } from './simulated-node.ts';
import { type Rule, spanMs } from './world.ts';

export interface Plan {
  readonly theme: Theme;
  readonly settings: ClusterSettings;
  readonly rules: readonly Rule[];
  readonly nodes: readonly string[];
  readonly callers: readonly CallerOptions[];
  readonly weather: Weather;
  readonly faults: readonly Fault[];
  /** Nothing is granted until the first owner has waited for a window; most are not asked before. */
  readonly askedFromMs: number;
  /** The cluster has come together by now, if nothing kept it from that. */
  readonly settledMs: number;
  /** Every fault is over. */
  readonly calmMs: number;
  /** From now on every key must have its share again. */
  readonly wellMs: number;
  readonly endMs: number;
}

const ttlMs = 400;
const graceMs = 10;
// How many times the limits is asked for: what leaks must be asked for to show.
const pressure = 3;
const questionsPerMsMax = 0.09;
// How many rules one request is about, at most.
const mostTogether = 3;

export function planOf(seed: number): Plan {
  const chance = random(seed).fork();
  const theme = themeOf(seed);
  const settings = settingsOf(chance);
  const rules = rulesOf(chance);
  const nodes = Array.from({ length: chance.pick([3, 3, 4, 5]) }, (_, i) => `n${i + 1}`);
  const callers = Array.from({ length: 2 + chance.integer(4) }, (_, i) => `c${i + 1}`);
  const longestMs = Math.max(...rules.flatMap(({ versions }) => versions.map(spanMs)));
  const settledMs = ttlMs + longestMs + 150;
  const calmMs = settledMs + 1300 + chance.uniform() * 1200;
  const wellMs = calmMs + 3.5 * ttlMs + longestMs + graceMs;
  const chanceOfFaults = chance.fork();
  const scene = { random: chanceOfFaults, ttlMs, nodes, callers, fromMs: settledMs, toMs: calmMs };
  return {
    theme,
    settings,
    rules,
    nodes,
    callers: callers.map(() => callerOf(chance, rules, callers.length, calmMs)),
    weather: theme === 'plans' ? fairWeather : weatherOf(chance),
    faults: faultsOf(theme, scene),
    askedFromMs: Math.max(0, longestMs - ttlMs),
    settledMs,
    calmMs,
    wellMs,
    endMs: wellMs + longestMs + 200,
  };
}

/** The themes take turns. */
export function themeOf(seed: number): Theme {
  return themeNames[seed % themeNames.length]!;
}

function settingsOf(chance: Random): ClusterSettings {
  return {
    name: 'simulated',
    ttlMs,
    shared: {
      graceMs,
      unreplicated: chance.pick([0, 1, 3]),
      durableFromMs: chance.uniform() < 0.25 ? 700 : 3_600_000,
      shards: 16,
    },
    maxKeys: 100_000,
    durableKeys: 1000,
    patienceMs: chance.pick([50, 200]),
  };
}

function rulesOf(chance: Random): Rule[] {
  return Array.from({ length: 2 + chance.integer(2) }, (_, i) => {
    const make = chance.pick([log, log, log, slots, slots, bucket, tokens, places, places]);
    const windows = [250, 400, 600, 800, 1100];
    const first = make(chance, chance.pick(windows));
    // What a reload makes of it: another limit, another window, or both.
    const second = make(chance, chance.uniform() < 0.5 ? spanMs(first) : chance.pick(windows));
    return {
      name: `r${i + 1}`,
      versions: [first, second],
      keys: [`user-${i}`, `{tag-${i}}`].slice(0, chance.pick([1, 1, 2])),
    };
  });
}

// Small limits: a few questions too many are seen at once.
const limitOf = (chance: Random) => 2 + chance.integer(4);
const log = (chance: Random, window: number): Policy => slidingLog({ limit: limitOf(chance), window });
const slots = (chance: Random, window: number): Policy =>
  slidingSlots({ limit: limitOf(chance), window, slots: 5 + chance.integer(20) });
const bucket = (chance: Random, window: number): Policy => gcra(bucketOf(chance, window));
const tokens = (chance: Random, window: number): Policy => tokenBucket(bucketOf(chance, window));
const places = (chance: Random, lease: number): Policy => concurrency({ limit: limitOf(chance), lease });

function bucketOf(chance: Random, window: number) {
  const limit = limitOf(chance);
  return { limit, window, burst: 1 + chance.integer(limit) };
}

function callerOf(chance: Random, rules: readonly Rule[], callers: number, calmMs: number): CallerOptions {
  const wanted = rules.flatMap(({ name, versions, keys }) =>
    keys.map((key) => ({ name, key, weight: (pressure * versions[0]!.limit) / spanMs(versions[0]!) })),
  );
  const questionsPerMs = wanted.reduce((sum, { weight }) => sum + weight, 0);
  const pairShare = chance.pick([0, 0.1, 0.4]);
  const draws = chance.fork();
  const one = (): Asked => {
    let left = draws.uniform() * questionsPerMs;
    let place = 0;
    while (place < wanted.length - 1 && left >= wanted[place]!.weight) {
      left -= wanted[place]!.weight;
      place += 1;
    }
    const { name, key } = wanted[place]!;
    return { rule: name, key, cost: draws.uniform() < 0.15 ? 2 : 1 };
  };
  return {
    gapMs: callers / Math.min(questionsPerMs, questionsPerMsMax),
    burstShare: chance.pick([0, 0.05, 0.2]),
    forwardedShare: chance.uniform(),
    patienceMs: chance.uniform() < 0.3 ? 3 + chance.uniform() * graceMs : 15 + chance.uniform() * 100,
    retryShare: chance.pick([0, 0.3, 0.7]),
    lateShare: chance.pick([0, 0.5, 1]),
    reservedShare: chance.pick([0, 0.2, 0.5]),
    takenShare: chance.pick([0, 0, 0.2]),
    // What is still forbidden or owed when all is calm must be over when all is well.
    interventions: { share: chance.pick([0, 0, 0.05, 0.2]), untilMs: calmMs },
    demand() {
      const all = [one()];
      while (all.length < mostTogether && draws.uniform() < pairShare) {
        const next = one();
        if (!all.some(({ rule, key }) => rule === next.rule && key === next.key)) all.push(next);
      }
      return all;
    },
  };
}

function weatherOf(chance: Random): Weather {
  const isRough = chance.uniform() < 0.4;
  return {
    delayMs: chance.pick([0.2, 0.5, 1]),
    slowShare: isRough ? 0.05 : 0.005,
    slowMs: 10,
    strayShare: isRough ? 0.01 : 0.001,
    strayMs: ttlMs,
    lossShare: isRough ? 0.02 : 0.001,
  };
}
