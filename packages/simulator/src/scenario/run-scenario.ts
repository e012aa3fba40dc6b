/**
 * Runs a scenario: the same calls through each variant, one after the other, in simulated time.
 *
 *      calls ──► limit ──► schedule ──► protect ──► balance ──► servers
 *
 * The same scenario gives the same result, on every machine.
 */
import type { Store } from 'sluice';
import { AnswerBook } from './answer-book.ts';
import { callsOf, groupsOf } from './calls.ts';
import { Pipeline, type PipelineContext } from './pipeline.ts';
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
  /**
   * Where the limits' numbers live, for as long as it runs: each variant has names of its own there. It is told the time of the run.
   * Default: memory.
   */
  readonly store?: Store;
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
    const place = options.store && { store: options.store, name: `variant-${i + 1}` };
    done.push(await runVariant(scenario, variant, { book, tell, place, signal: options.signal }));
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

/** Calls whose answers come from elsewhere take many times as long. */
const storedCallsPerTurn = 256;

interface VariantOptions extends Pick<PipelineContext, 'book' | 'place'> {
  readonly tell: Tell;
  readonly signal: AbortSignal | undefined;
}

async function runVariant(scenario: Scenario, variant: Variant, options: VariantOptions): Promise<Done> {
  const { book, tell, place, signal } = options;
  const { durationMs, seed } = scenario;
  const { stages, name } = variant;
  // Schedulers, protections and health checks wait by promises; everything else answers at once.
  const hasPromises = stages.schedule || stages.protect || stages.balance?.health;
  const answered = (): Promise<unknown> | undefined => {
    // Whoever ends a run clears its store up, and nothing may be written there after that.
    if (place) signal?.throwIfAborted();
    return pipeline.answered();
  };
  const worldOptions = { tell, answered };
  const world = hasPromises ? patientWorld(seed, worldOptions) : promptWorld(worldOptions);
  const slices = new Slices(durationMs);
  const pipeline: Pipeline = new Pipeline(stages, {
    world,
    slices,
    seed,
    durationMs,
    book,
    place,
    groups: groupsOf(scenario),
  });
  for (let slice = 0; slice < slicesPerRun; slice += 1)
    world.at(Math.min(durationMs, (slice + 1) * slices.sliceMs), () => pipeline.endOfSlice(slice));
  const callsPerTurn = place ? storedCallsPerTurn : happeningsPerTurn;
  let arrivals = 0;
  tell(0);
  await turn();
  for (const call of callsOf(scenario, stages.service)) {
    const passing = world.advance(call.atMs);
    if (passing) await passing;
    const arriving = pipeline.arrive(call);
    if (arriving) await arriving;
    if (place) signal?.throwIfAborted();
    arrivals += 1;
    if (arrivals > mostArrivals)
      throw new RangeError(`The traffic has more than ${mostArrivals} calls, which is the most.`);
    if (arrivals % callsPerTurn > 0) continue;
    tell(call.atMs);
    await turn();
  }
  await world.advance(durationMs);
  await pipeline.answered();
  const findings: Findings = { measures: new Measures(), texts: new Map(), notes: [] };
  pipeline.report(findings);
  const result = { name, measures: findings.measures.all, series: slices.series, notes: findings.notes };
  return { result, findings, arrivals };
}
