/**
 * A balancer before servers that have a queue each, and what a call waits for.
 *
 *                           ┌──► │ · · ● ──► done
 *      Poisson ──► pick ────┼──► │     ● ──► done          response: from its arrival until it is done
 *                           └──► │ · · ● ──► done
 *
 * Nothing here waits for anything but time, so the events are two: the next arrival, and the next call that is done. Times are
 * in mean services.
 */
import type { Balancer, Picked } from 'sluice/balance';
import { Heap } from '../heap.ts';
import { type Random, random } from '../random.ts';
import { rankOfP99 } from '../scenario/samples.ts';

export interface QueueOptions {
  readonly servers: number;
  /** Of all servers, the share of the time that they are busy: above 0, below 1. */
  readonly load: number;
  /** `'exponential'`: services vary as much as their mean; `'fixed'`: all are alike. */
  readonly service: 'exponential' | 'fixed';
  /** How many calls are measured. */
  readonly calls: number;
  /** How many come before, so that the queues are as they are in the long run. Default: a tenth as many. */
  readonly warmUpCalls?: number;
  /** What the calls come from: the same for all balancers that are compared. Default 1. */
  readonly seed?: number;
}

export interface Response {
  readonly mean: number;
  /** How far the mean is from that of a run without end, by chance: its standard error. */
  readonly standardError: number;
  /** What at most one of a hundred exceeds. */
  readonly p99: number;
}

interface Call {
  readonly atTime: number;
  readonly service: number;
}

/** The same calls for everybody: when they arrive and how long they take does not depend on where they go. */
function* callsOf(options: QueueOptions): Generator<Call> {
  const { servers, load, service, calls, warmUpCalls = calls / 10 } = options;
  const { arrivals, services } = streamsOf(options);
  let atTime = 0;
  for (let i = 0; i < calls + warmUpCalls; i += 1) {
    atTime += arrivals.exponential(1 / (servers * load));
    yield { atTime, service: service === 'fixed' ? 1 : services.exponential(1) };
  }
}

function streamsOf({ seed = 1 }: QueueOptions): Record<'arrivals' | 'services' | 'choices', Random> {
  const { fork } = random(seed);
  return { arrivals: fork(), services: fork(), choices: fork() };
}

interface Departure {
  readonly atTime: number;
  readonly picked: Picked;
}

/** Is given the members, and where chance comes from. */
export type MakeBalancer = (members: string[], random: () => number) => Balancer;

export function balancedResponse(make: MakeBalancer, options: QueueOptions): Response {
  const members = Array.from({ length: options.servers }, (_, i) => `server-${i}`);
  const balancer = make(members, streamsOf(options).choices.uniform);
  const freeFrom = new Map(members.map((id) => [id, 0]));
  const departures = new Heap<Departure>((a, b) => a.atTime < b.atTime);
  return responseOf(options, ({ atTime, service }) => {
    for (let first = departures.first(); first !== undefined && first.atTime <= atTime; first = departures.first()) {
      departures.pop()?.picked.done();
    }
    const picked = balancer.pick();
    if (picked === undefined) throw new Error('There is always a member to pick here.');
    const { id } = picked.member;
    const doneAt = Math.max(atTime, freeFrom.get(id)!) + service;
    freeFrom.set(id, doneAt);
    departures.push({ atTime: doneAt, picked });
    return doneAt;
  });
}

/** The floor: one queue, and whoever is free takes the first of it. */
export function oneQueueSimulated(options: QueueOptions): Response {
  const freeFrom = new Heap<number>((a, b) => a < b);
  for (let i = 0; i < options.servers; i += 1) freeFrom.push(0);
  return responseOf(options, ({ atTime, service }) => {
    const doneAt = Math.max(atTime, freeFrom.pop()!) + service;
    freeFrom.push(doneAt);
    return doneAt;
  });
}

function responseOf(options: QueueOptions, doneAt: (call: Call) => number): Response {
  const { calls, warmUpCalls = calls / 10 } = options;
  const responses = new Float64Array(calls);
  let i = -warmUpCalls;
  for (const call of callsOf(options)) {
    const response = doneAt(call) - call.atTime;
    if (i >= 0) responses[i] = response;
    i += 1;
  }
  const mean = meanOf(responses);
  const standardError = standardErrorOf(responses);
  responses.sort();
  return { mean, standardError, p99: responses[rankOfP99(calls) - 1]! };
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}

const batches = 50;

/** Calls that follow each other wait for the same others, so they count as one; batches of thousands hardly do. */
function standardErrorOf(responses: Float64Array): number {
  const length = Math.floor(responses.length / batches);
  const means = Float64Array.from({ length: batches }, (_, i) =>
    meanOf(responses.subarray(i * length, (i + 1) * length)),
  );
  const mean = meanOf(means);
  const variance = means.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (batches - 1);
  return Math.sqrt(variance / batches);
}
