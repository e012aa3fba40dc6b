/**
 * The same traffic through all nine algorithms, on simulated time.
 *
 *      settings ──► traffic ──► step(toMs) ──► each lane: decision, level, measures
 *                     ▲
 *                 callNow()
 *
 * Pure: no clock, no page, nothing drawn at random but by the seed. The same settings and the same calls by hand make the same decisions,
 * in however many steps one gets there, in Node as in a browser.
 */
import type { Arrival } from '@sluice/simulator';
import type { Decision, Policy } from 'sluice';
import { type AlgorithmName, algorithmNames } from './algorithms.ts';
import { laneLimiter } from './lane-limiter.ts';
import { Ring } from './ring.ts';
import { mostHandCalls, type Settings } from './settings.ts';
import { trafficOf } from './traffic-shape.ts';
import { WorstWindow } from './worst-window.ts';

export interface DecidedCall {
  readonly lane: AlgorithmName;
  /** From 0, and the same in every lane: they all get the same calls. */
  readonly order: number;
  readonly atMs: number;
  readonly cost: number;
  readonly isByHand: boolean;
  readonly decision: Decision;
  readonly usedBefore: number;
  readonly usedAfter: number;
  /** Of `concurrency`, on a refusal: how long until the next of those in flight ends. */
  readonly nextEndInMs?: number | undefined;
}

export interface Level {
  readonly atMs: number;
  readonly used: number;
}

export interface LaneCounts {
  allowed: number;
  /** Those of the allowed that were told to wait. */
  delayed: number;
  refused: number;
}

export interface Lane {
  readonly name: AlgorithmName;
  readonly policy: Policy;
  /** How far `used` can go. */
  readonly capacity: number;
  /** The latest; as many as can be seen. */
  readonly calls: Ring<DecidedCall>;
  readonly levels: Ring<Level>;
  readonly counts: Readonly<LaneCounts>;
  /** The most that went in any window, or for `concurrency` that was in flight at once, and when. */
  readonly worst: { readonly most: number; readonly endMs: number };
}

export interface Engine {
  readonly settings: Settings;
  readonly lanes: readonly Lane[];
  readonly nowMs: number;
  readonly nextArrivalMs: number;
  /** Those to come too. */
  readonly handCallsMs: readonly number[];
  /** Lets all who arrive until then arrive. On the way to a later moment, only what can be seen from there is read for the picture. */
  step(toMs: number, onTheWayToMs?: number): void;
  /** One more arrival, now. Nothing once there are too many to keep. */
  callNow(): DecidedCall[];
}

/** How much of the past a picture shows. */
export function spanMsOf({ windowMs }: Pick<Settings, 'windowMs'>): number {
  return 3 * windowMs;
}

// A picture of the longest span at the highest rate, and some more by hand.
const mostCalls = 4096;
const samplesPerSpan = 500;
// Each call is two: what was in use before it, and after it.
const mostLevels = 2 * mostCalls + samplesPerSpan;

export function engine(settings: Settings, handCallsMs: readonly number[] = []): Engine {
  const lanes = algorithmNames.map((name) => lane(name, settings));
  const arrivals = trafficOf(settings)[Symbol.iterator]();
  const byHand = [...handCallsMs];
  const spanMs = spanMsOf(settings);
  const sampleMs = spanMs / samplesPerSpan;
  let scheduled: Arrival = arrivals.next().value;
  let handsTaken = 0;
  let order = 0;
  let samples = 0;
  let nowMs = 0;

  const nextByHandMs = () => byHand[handsTaken] ?? Number.POSITIVE_INFINITY;
  const nextArrivalMs = () => Math.min(scheduled.atMs, nextByHandMs());

  function arrive(atMs: number, cost: number, isByHand: boolean): DecidedCall[] {
    const decided = lanes.map((one) => one.decide({ order, atMs, cost, isByHand }));
    order += 1;
    return decided;
  }

  function arriveNext(): void {
    if (scheduled.atMs <= nextByHandMs()) {
      const { atMs, cost } = scheduled;
      scheduled = arrivals.next().value;
      arrive(atMs, cost, false);
    } else {
      const atMs = nextByHandMs();
      handsTaken += 1;
      arrive(atMs, 1, true);
    }
  }

  function step(toMs: number, onTheWayToMs = toMs): void {
    // What lies before the picture is never drawn.
    samples = Math.max(samples, Math.ceil((onTheWayToMs - spanMs) / sampleMs));
    for (;;) {
      const sampleAtMs = samples * sampleMs;
      const arrivalMs = nextArrivalMs();
      if (Math.min(sampleAtMs, arrivalMs) > toMs) break;
      if (arrivalMs <= sampleAtMs) arriveNext();
      else {
        samples += 1;
        for (const one of lanes) one.sample(sampleAtMs);
      }
    }
    nowMs = Math.max(nowMs, toMs);
    for (const one of lanes) one.advance(nowMs);
  }

  return {
    settings,
    lanes,
    get nowMs() {
      return nowMs;
    },
    get nextArrivalMs() {
      return nextArrivalMs();
    },
    get handCallsMs() {
      return [...byHand];
    },
    step,
    callNow() {
      if (byHand.length >= mostHandCalls) return [];
      byHand.splice(handsTaken, 0, nowMs);
      handsTaken += 1;
      const decided = arrive(nowMs, 1, true);
      for (const one of lanes) one.advance(nowMs);
      return decided;
    },
  };
}

interface RunningLane extends Lane {
  decide(call: Pick<DecidedCall, 'order' | 'atMs' | 'cost' | 'isByHand'>): DecidedCall;
  sample(atMs: number): void;
  advance(nowMs: number): void;
}

function lane(name: AlgorithmName, settings: Settings): RunningLane {
  const limit = laneLimiter(name, settings);
  const calls = new Ring<DecidedCall>(mostCalls);
  const levels = new Ring<Level>(mostLevels);
  const counts: LaneCounts = { allowed: 0, delayed: 0, refused: 0 };
  const measure = name === 'concurrency' ? mostInFlight() : new WorstWindow(settings.windowMs);
  return {
    name,
    policy: limit.policy,
    capacity: limit.capacity,
    calls,
    levels,
    counts,
    worst: measure,
    decide({ order, atMs, cost, isByHand }) {
      const { decision, used } = limit.decide(atMs, cost);
      const { allowed, delayMs } = decision;
      // Levels are read rounded up, and what passed did fit.
      const usedAfter = Math.min(used, limit.capacity);
      const usedBefore = allowed ? Math.max(0, usedAfter - cost) : usedAfter;
      const nextEndInMs = allowed ? undefined : limit.nextEndInMs?.(atMs);
      const decided = { lane: name, order, atMs, cost, isByHand, decision, usedBefore, usedAfter, nextEndInMs };
      calls.push(decided);
      levels.push({ atMs, used: usedBefore });
      levels.push({ atMs, used: usedAfter });
      counts[allowed ? 'allowed' : 'refused'] += 1;
      if (delayMs > 0) counts.delayed += 1;
      if (allowed) measure.add(decided);
      return decided;
    },
    sample: (atMs) => levels.push({ atMs, used: limit.used(atMs) }),
    advance: (nowMs) => measure.advance(nowMs),
  };
}

/** The measure of the one algorithm that knows no window. */
function mostInFlight() {
  const measure = {
    most: 0,
    endMs: 0,
    add({ atMs, usedAfter }: DecidedCall): void {
      if (usedAfter <= measure.most) return;
      measure.most = usedAfter;
      measure.endMs = atMs;
    },
    advance(): void {},
  };
  return measure;
}
