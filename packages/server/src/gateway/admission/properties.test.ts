/** Random lives against a list that is searched from end to end: who may have gone, who must have gone, who may still wait. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { configOf, Trial, turn } from './admission.test-support.ts';

type Step =
  | { readonly kind: 'ask'; readonly tenant: string; readonly priority: number }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'change'; readonly concurrency: number; readonly queue: number };

const anyStep = (tenants: string): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('ask' as const),
        tenant: fc.constantFrom(...tenants),
        priority: fc.nat({ max: 3 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('change' as const),
        concurrency: fc.integer({ min: 1, max: 4 }),
        queue: fc.nat({ max: 6 }),
      }),
    },
  );

interface Waiting {
  readonly name: string;
  readonly tenant: string;
  readonly priority: number;
  readonly sinceMs: number;
}

const weights: Readonly<Record<string, number>> = { a: 1, b: 1, c: 2.5 };
const settings = { weights, concurrency: 2, queue: 4, queueTimeoutMs: 100 };

/** What the specification says, the slow way. */
class Model {
  readonly trial: Trial;
  readonly ageingMs: number;
  concurrency = settings.concurrency;
  queue = settings.queue;
  waiting: Waiting[] = [];
  inFlight: string[] = [];
  private names = 0;
  private heard = 0;

  constructor(ageingMs: number) {
    this.ageingMs = ageingMs;
    this.trial = new Trial({ ...settings, ageingMs });
  }

  async act(step: Step): Promise<void> {
    const { trial } = this;
    if (step.kind === 'ask') await this.ask(step.tenant, step.priority);
    else if (step.kind === 'pass') await trial.pass(step.ms);
    else if (step.kind === 'end' && this.inFlight.length > 0) {
      const index = step.which % this.inFlight.length;
      this.inFlight.splice(index, 1);
      trial.inFlight.splice(index, 1)[0]!.ok();
      await turn();
    } else if (step.kind === 'leave' && this.waiting.length > 0) {
      const { name } = this.waiting[step.which % this.waiting.length]!;
      await trial.leave(name);
      expect(trial.told.at(-1)).toBe(`${name} gone`);
    } else if (step.kind === 'change') {
      ({ concurrency: this.concurrency, queue: this.queue } = step);
      trial.admission.reconfigure(configOf({ ...settings, ageingMs: this.ageingMs, ...step }));
      await turn();
    }
    for (const text of trial.told.slice(this.heard)) this.hear(text);
    this.heard = trial.told.length;
    this.check();
  }

  private async ask(tenant: string, priority: number): Promise<void> {
    this.names += 1;
    const newcomer = { name: String(this.names), tenant, priority, sinceMs: this.trial.clock.now() };
    const before = this.waiting;
    this.waiting = [...before, newcomer];
    const mustGo = this.inFlight.length >= this.concurrency && before.length >= this.queue;
    await this.trial.ask(`${newcomer.name}${tenant}${priority}`);
    if (!mustGo) return;
    const [said] = this.trial.told.slice(this.heard);
    const [name, reason] = said!.split(' ');
    expect(reason).toBe(name === newcomer.name ? 'full' : 'shed');
    expect(this.worst(newcomer)).toContain(name);
  }

  /** Whoever may be given up: the newest of a tenant that has most for its weight, where that ranks last. */
  private worst(newcomer: Waiting): string[] {
    if (this.queue === 0) return [newcomer.name];
    const load = (of: Waiting) =>
      this.waiting.filter(({ tenant, priority }) => tenant === of.tenant && priority === of.priority).length /
      weights[of.tenant]!;
    const newest = this.waiting.filter(
      (one, i) =>
        !this.waiting.some(
          ({ tenant, priority }, later) => later > i && tenant === one.tenant && priority === one.priority,
        ),
    );
    const inLevel = (level: number) => newest.filter(({ priority }) => priority === level);
    const most = newest.filter((one) => inLevel(one.priority).every((other) => load(one) >= load(other)));
    // Among equals it is the newcomer, and otherwise any of them.
    const candidates = most.includes(newcomer)
      ? most.filter((one) => one === newcomer || one.priority !== newcomer.priority)
      : most;
    const last = Math.max(
      ...[0, 1, 2, 3]
        .map((level) =>
          Math.min(...candidates.filter(({ priority }) => priority === level).map((one) => this.rank(one))),
        )
        .filter(Number.isFinite),
    );
    return candidates.filter((one) => this.rank(one) >= last).map(({ name }) => name);
  }

  private rank({ priority, sinceMs }: Waiting): number {
    return this.ageingMs === 0 ? priority : sinceMs + priority * this.ageingMs;
  }

  private hear(text: string): void {
    const [name, reason] = text.split(' ') as [string, string | undefined];
    const one = this.waiting.find((other) => other.name === name)!;
    const nowMs = this.trial.clock.now();
    expect(one).toBeDefined();
    if (reason === 'waited-too-long') expect(one.sinceMs + settings.queueTimeoutMs).toBeLessThanOrEqual(nowMs);
    if (reason === undefined) {
      this.mayGo(one);
      this.inFlight.push(name);
    }
    this.waiting = this.waiting.filter((other) => other !== one);
  }

  /** The first of its tenant and priority, and none of another priority whose level has nobody that ranks after it. */
  private mayGo(one: Waiting): void {
    expect(this.inFlight.length).toBeLessThan(this.concurrency);
    const isLine = (a: Waiting, b: Waiting) => a.tenant === b.tenant && a.priority === b.priority;
    const firsts = this.waiting.filter((other, i) => !this.waiting.some((before, j) => j < i && isLine(before, other)));
    expect(firsts).toContain(one);
    for (const level of [0, 1, 2, 3].filter((other) => other !== one.priority)) {
      const ranks = firsts.filter(({ priority }) => priority === level).map((other) => this.rank(other));
      if (ranks.length > 0) expect(this.rank(one)).toBeLessThanOrEqual(Math.max(...ranks));
    }
  }

  private check(): void {
    const { inFlight, waiting, trial } = this;
    const nowMs = trial.clock.now();
    expect(trial.admission.stats()).toMatchObject({ inFlight: inFlight.length, waiting: waiting.length });
    if (waiting.length > 0) expect(inFlight.length).toBeGreaterThanOrEqual(this.concurrency);
    expect(waiting.filter(({ sinceMs }) => sinceMs + settings.queueTimeoutMs <= nowMs)).toEqual([]);
  }
}

const lives = (tenants: string) => fc.array(anyStep(tenants), { minLength: 10, maxLength: 80 });
const anyAgeing = fc.constantFrom(0, 7, 30);

it('whoever has a place, is refused or waits is one who may, in any life', async () => {
  await fc.assert(
    fc.asyncProperty(lives('abc'), anyAgeing, async (steps, ageingMs) => {
      const model = new Model(ageingMs);
      for (const step of steps) await model.act(step);
    }),
    { numRuns: 300 },
  );
});

it('of one tenant, requests go by when they came and how urgent they are, and by nothing else', async () => {
  const arrivals = fc.array(fc.record({ afterMs: fc.nat({ max: 50 }), priority: fc.nat({ max: 9 }) }), {
    minLength: 1,
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(arrivals, fc.constantFrom(0, 1, 10, 33), async (requests, ageingMs) => {
      const trial = new Trial({ ageingMs });
      await trial.ask('1000a5');
      const ranks: { readonly name: string; readonly rank: number; readonly priority: number }[] = [];
      for (const [i, { afterMs, priority }] of requests.entries()) {
        await trial.pass(afterMs);
        await trial.ask(`${i}a${priority}`);
        const rank = ageingMs === 0 ? priority : trial.clock.now() + priority * ageingMs;
        ranks.push({ name: String(i), rank, priority });
      }
      const expected = ranks.sort((a, b) => a.rank - b.rank || a.priority - b.priority).map(({ name }) => name);
      expect((await trial.order()).split(' ')).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

it('with ageing nobody waits for ever: whatever keeps coming, everybody who is there now has gone after enough turns', async () => {
  const newcomers = fc.array(fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), priority: fc.nat({ max: 3 }) }), {
    minLength: 5,
    maxLength: 20,
  });
  await fc.assert(
    fc.asyncProperty(newcomers, newcomers, fc.integer({ min: 1, max: 20 }), async (there, coming, tookMs) => {
      const trial = new Trial({ ageingMs: 10, queue: 1000, weights });
      await trial.ask('1000a0');
      for (const [i, { tenant, priority }] of there.entries()) await trial.ask(`${i}${tenant}${priority}`);
      for (let turns = 0; turns < 600; turns += 1) {
        const { tenant, priority } = coming[turns % coming.length]!;
        await trial.ask(`${2000 + turns}${tenant}${priority}`);
        await trial.end(tookMs);
      }
      expect(there.filter((_, i) => !trial.answers.has(String(i)))).toEqual([]);
    }),
    { numRuns: 30 },
  );
});
