/** One seed, one history: carried out, and judged. */
import { type Plan, planOf } from './plan.ts';
import { despiteBlock, noProgress, type Objection, refusedByPlan, tooMuch } from './verdict.ts';
import { type AllFences, World } from './world.ts';

export interface HistoryOptions {
  /** Without those that are false. Default: all. */
  readonly fences?: Partial<AllFences>;
}

export interface HistoryReport {
  readonly seed: number;
  readonly objections: readonly Objection[];
  /** Equal for equal histories. */
  readonly hash: string;
  /** How many grants were used, and how many came too late for that. */
  readonly used: number;
  readonly dropped: number;
  /** By reason. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Questions that no node could answer. */
  readonly errors: number;
  /** By name. */
  readonly faults: readonly string[];
  readonly simulatedMs: number;
  /** The objections, and what happened around the first. */
  describe(): string;
  /** Everything that happened. */
  timeline(): string;
}

export async function history(seed: number, options: HistoryOptions = {}): Promise<HistoryReport> {
  const plan = planOf(seed);
  const { settings, rules, weather } = plan;
  const { fences = {} } = options;
  const world = new World({ seed, settings, rules, weather, fences });
  begin(world, plan);
  let failure: Objection[] = [];
  try {
    await world.run(plan.endMs);
  } catch (error) {
    failure = [failureOf(error, world.loop.nowMs)];
  }
  for (const node of world.nodes.values()) node.crash();
  const objections = [
    ...failure,
    ...tooMuch(world),
    ...despiteBlock(world),
    ...noProgress(world, plan),
    ...(plan.theme === 'plans' ? refusedByPlan(world, plan) : []),
  ];
  const { ledger, trace } = world;
  return {
    seed,
    objections,
    hash: trace.hash,
    used: ledger.uses.length,
    dropped: ledger.dropped,
    refusals: ledger.refusals,
    errors: ledger.failures.length,
    faults: plan.faults.map(({ name }) => name),
    simulatedMs: plan.endMs,
    describe: () => describe(world, objections),
    timeline: () => trace.between(0, plan.endMs, Number.POSITIVE_INFINITY).join('\n'),
  };
}

function begin(world: World, plan: Plan): void {
  const { random, loop } = world;
  for (const name of plan.nodes) {
    const node = world.addNode(name);
    loop.at(random.uniform() * 100, () => void node.start());
  }
  for (const [i, options] of plan.callers.entries()) {
    const caller = world.addCaller(`c${i + 1}`, options);
    loop.at(plan.askedFromMs + plan.settings.ttlMs * random.uniform(), () => caller.start());
  }
  const ends: (() => void)[] = [];
  for (const fault of plan.faults) {
    loop.at(fault.atMs, () => {
      world.tell('fault', fault.name);
      ends.push(fault.begin(world));
    });
  }
  loop.at(plan.calmMs, () => {
    world.tell('fault', 'all are over');
    for (const end of ends) end();
  });
}

/** What is thrown in a world is a defect as much as what is granted in it. */
function failureOf(error: unknown, atMs: number): Objection {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'thrown', text, fromMs: atMs, toMs: atMs };
}

const linesShown = 150;

function describe({ trace }: World, objections: readonly Objection[]): string {
  const [first] = objections;
  if (!first) return 'nothing to object to';
  return [
    ...objections.map(({ text }) => text),
    '',
    ...trace.between(first.fromMs - 100, first.toMs + 20, linesShown),
  ].join('\n');
}
