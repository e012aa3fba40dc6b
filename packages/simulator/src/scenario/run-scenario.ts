/**
 * Runs a scenario: the same calls through each variant, one after the other, in simulated time.
 *
 *      calls ──► limit ──► schedule ──► protect ──► balance ──► servers
 *
 * The same scenario gives the same result, on every machine.
 */
import { AnswerBook } from './answer-book.ts';
import { callsOf, groupsOf } from './calls.ts';
import { Pipeline } from './pipeline.ts';
import type { ScenarioResult, VariantResult } from './result.ts';
import { mostArrivals, type Scenario, type Variant } from './scenario.ts';
import { Slices, slicesPerRun } from './slices.ts';
import { type Findings, Measures } from './vocabulary.ts';
import { happeningsPerTurn, patientWorld, promptWorld, turn } from './world.ts';

export interface RunScenarioOptions {
  /** Told now and then how much is done, 0 to 1. */
  readonly onProgress?: (doneRatio: number) => void;
  /** Ends the run with its reason. */
  readonly signal?: AbortSignal;
}

export async function runScenario(scenario: Scenario, options: RunScenarioOptions = {}): Promise<ScenarioResult> {
  const { variants, durationMs } = scenario;
  const book = new AnswerBook();
  const done: Done[] = [];
  for (const [i, variant] of variants.entries()) {
    if (i > 0) book.turnOver();
    const tell: Tell = (nowMs) => {
      options.signal?.throwIfAborted();
      options.onProgress?.((i + nowMs / durationMs) / variants.length);
    };
    done.push(await runVariant(scenario, variant, book, tell));
  }
  options.onProgress?.(1);
  const sliceMs = durationMs / slicesPerRun;
  const evidence = new Map(done.map(({ result, findings }) => [result.name, { ...result, texts: findings.texts }]));
  return {
    name: scenario.name,
    about: scenario.about,
    seed: scenario.seed,
    durationMs,
    sliceMs,
    arrivals: done[0]?.arrivals ?? 0,
    variants: done.map(({ result }) => result),
    expectations: scenario.claims.map(({ evaluate }) => evaluate({ sliceMs, variants: evidence })),
  };
}

interface Done {
  readonly result: VariantResult;
  readonly findings: Findings;
  readonly arrivals: number;
}

/** Of the time that a variant has come to. Throws when the run is to end. */
type Tell = (nowMs: number) => void;

async function runVariant(scenario: Scenario, variant: Variant, book: AnswerBook, tell: Tell): Promise<Done> {
  const { durationMs, seed } = scenario;
  const { stages, name } = variant;
  // Schedulers, protections and health checks wait by promises; everything else answers at once.
  const hasPromises = stages.schedule || stages.protect || stages.balance?.health;
  const world = hasPromises ? patientWorld(seed, { tell }) : promptWorld({ tell });
  const slices = new Slices(durationMs);
  const pipeline = new Pipeline(stages, { world, slices, seed, durationMs, book, groups: groupsOf(scenario) });
  for (let slice = 0; slice < slicesPerRun; slice += 1)
    world.at(Math.min(durationMs, (slice + 1) * slices.sliceMs), () => pipeline.endOfSlice(slice));
  let arrivals = 0;
  tell(0);
  await turn();
  for (const call of callsOf(scenario, stages.service)) {
    const passing = world.advance(call.atMs);
    if (passing) await passing;
    pipeline.arrive(call);
    arrivals += 1;
    if (arrivals > mostArrivals)
      throw new RangeError(`The traffic has more than ${mostArrivals} calls, which is the most.`);
    if (arrivals % happeningsPerTurn > 0) continue;
    tell(call.atMs);
    await turn();
  }
  await world.advance(durationMs);
  const findings: Findings = { measures: new Measures(), texts: new Map(), notes: [] };
  pipeline.report(findings);
  const result = { name, measures: findings.measures.all, series: slices.series, notes: findings.notes };
  return { result, findings, arrivals };
}
