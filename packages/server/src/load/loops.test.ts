import { describe, expect, it } from 'vitest';
import type { Asker, AskerEvents } from './asker.ts';
import { closedLoop, type OpenAsker, openLoop } from './loops.ts';
import type { Pace } from './pace.ts';

/** Time that passes only while a loop rests: to where it wanted to be woken, and in the order of what else is to happen. */
class TestTime implements Pace {
  private elapsedMs = 1_000_000;
  private happenings: { readonly atMs: number; readonly happen: () => void }[] = [];

  nowMs(): number {
    return this.elapsedMs;
  }

  after(ms: number, happen: () => void): void {
    this.happenings.push({ atMs: this.elapsedMs + ms, happen });
    this.happenings.sort((a, b) => a.atMs - b.atMs);
  }

  async rest(untilMs: number): Promise<void> {
    // A loop that only wants others to work gets the shortest rest there is.
    const wakeMs = Math.max(untilMs, this.elapsedMs + 0.01);
    while (this.happenings[0] !== undefined && this.happenings[0].atMs <= wakeMs) {
      const { atMs, happen } = this.happenings.shift()!;
      this.elapsedMs = Math.max(this.elapsedMs, atMs);
      happen();
    }
    this.elapsedMs = Math.max(this.elapsedMs, wakeMs);
  }
}

interface Behaviour {
  /** How long an answer takes; undefined: it never comes. */
  answerMs(request: number, sinceStartMs: number): number | undefined;
  readonly mostInFlight?: number;
  problem?(request: number): string | undefined;
}

/** Something that can be asked and behaves as told. */
function asked(time: TestTime, { answerMs, mostInFlight = Number.POSITIVE_INFINITY, problem }: Behaviour) {
  const startMs = time.nowMs();
  const sentMs: number[] = [];
  let inFlight = 0;
  let inFlightMost = 0;
  let isClosed = false;
  const open: OpenAsker = async ({ answered }: AskerEvents): Promise<Asker> => ({
    ask(request) {
      if (inFlight >= mostInFlight) return false;
      inFlight += 1;
      inFlightMost = Math.max(inFlightMost, inFlight);
      sentMs.push(time.nowMs() - startMs);
      const ms = answerMs(request, time.nowMs() - startMs);
      if (ms === undefined) return true;
      time.after(ms, () => {
        inFlight -= 1;
        answered(request, problem?.(request));
      });
      return true;
    },
    flush() {},
    failure: () => undefined,
    close() {
      isClosed = true;
    },
  });
  return { open, sentMs, inFlightMost: () => inFlightMost, isClosed: () => isClosed };
}

describe('open loop', () => {
  it('sends each request at its time, answered or not', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 400 });
    const report = await openLoop(service.open, time, { perSecond: 10, durationMs: 1000 });
    expect(service.sentMs.map(Math.round)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    expect(report).toMatchObject({ requests: 10, answered: 10, errors: 0, firstError: undefined });
    expect(report.p50Ms).toBeCloseTo(400, 0);
    expect(service.isClosed()).toBe(true);
  });

  it('charges a service that stands still for everybody who came meanwhile', async () => {
    const time = new TestTime();
    // It answers at once, but for the second after the first one.
    const standstill = { fromMs: 1000, toMs: 2000 };
    const service = asked(time, {
      answerMs: (_, atMs) => (atMs >= standstill.fromMs && atMs < standstill.toMs ? standstill.toMs - atMs : 0),
    });
    const report = await openLoop(service.open, time, { perSecond: 1000, durationMs: 4000 });
    // A thousand of four thousand waited between 0 and a second; a client that waits for its answer would have seen one of them.
    expect(report.p50Ms).toBeLessThan(1);
    expect(report.p99Ms).toBeGreaterThan(950);
    expect(report.meanMs).toBeGreaterThan(120);
    expect(report.meanMs).toBeLessThan(130);
  });

  it('lets a request that finds no room wait with its clock running', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 100, mostInFlight: 1 });
    const report = await openLoop(service.open, time, { perSecond: 20, durationMs: 500 });
    // Due every 50 ms, sent every 100: the tenth waits for nine answers, from 450 ms on.
    expect(service.sentMs.at(-1)).toBeCloseTo(900, -1);
    expect(report.maxMs).toBeGreaterThan(540);
    expect(report.maxMs).toBeLessThan(560);
    expect(report.sentLateP99Ms).toBeGreaterThan(440);
    expect(service.inFlightMost()).toBe(1);
  });

  it('counts an answer that is an error as an error, and not among the latencies', async () => {
    const time = new TestTime();
    const problem = (request: number) => (request === 3 ? 'ERR no' : undefined);
    const service = asked(time, { answerMs: (request) => (request === 3 ? 0 : 7), problem });
    const report = await openLoop(service.open, time, { perSecond: 100, durationMs: 100 });
    expect(report).toMatchObject({ requests: 10, answered: 10, errors: 1, firstError: 'ERR no' });
    expect(report.perSecond).toBeCloseTo(90, 0);
  });

  it('counts what was never answered as errors, and does not wait for it for ever', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: (request) => (request < 6 ? 1 : undefined) });
    const report = await openLoop(service.open, time, { perSecond: 100, durationMs: 100 });
    expect(report).toMatchObject({ requests: 10, answered: 6, errors: 4 });
    expect(report.firstError).toBe('4 requests were not answered');
  });

  it('counts what could never be sent as errors too', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => undefined, mostInFlight: 2 });
    const report = await openLoop(service.open, time, { perSecond: 100, durationMs: 100 });
    expect(report).toMatchObject({ requests: 10, answered: 0, errors: 10 });
    expect(service.sentMs).toHaveLength(2);
  });
});

describe('closed loop', () => {
  it('keeps so many under way, each answer followed by the next request', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 10 });
    const report = await closedLoop(service.open, time, { inFlight: 4, durationMs: 100 });
    expect(service.inFlightMost()).toBe(4);
    expect(report).toMatchObject({ requests: 40, answered: 40, errors: 0, elapsedMs: 100 });
    expect(report.perSecond).toBeCloseTo(400, 9);
    expect(report.p99Ms).toBeCloseTo(10, 6);
  });

  it('ends when so many requests were answered', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 10 });
    const report = await closedLoop(service.open, time, { inFlight: 4, durationMs: 1_000_000, requests: 10 });
    expect(report).toMatchObject({ requests: 10, answered: 10, errors: 0, elapsedMs: 30 });
  });

  it('asks again later where there was no room for all', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 10, mostInFlight: 2 });
    const report = await closedLoop(service.open, time, { inFlight: 4, durationMs: 100 });
    expect(report).toMatchObject({ requests: 20, answered: 20, errors: 0 });
  });

  it('counts errors and goes on', async () => {
    const time = new TestTime();
    const service = asked(time, { answerMs: () => 10, problem: () => 'HTTP status 500' });
    const report = await closedLoop(service.open, time, { inFlight: 1, durationMs: 100 });
    expect(report).toMatchObject({
      requests: 10,
      answered: 10,
      errors: 10,
      perSecond: 0,
      firstError: 'HTTP status 500',
    });
  });
});
