/**
 * What stands between the callers and the servers: the library's protections, in this order, and what they did.
 *
 *      call ──► retry ──► throttle ──► breaker ──► timeout ──► an attempt
 */
import type { SluiceError } from 'sluice';
import {
  adaptiveThrottle,
  type CircuitBreaker,
  type CircuitState,
  circuitBreaker,
  type Protection,
  retry,
  retryBudget,
  timeout,
  wrap,
} from 'sluice/protect';
import type { Protect } from '../scenario.ts';
import type { Counter, Slices } from '../slices.ts';
import { streamOf } from '../streams.ts';
import { type Findings, mostInWords } from '../vocabulary.ts';
import type { World } from '../world.ts';

export interface ProtectStageOptions {
  readonly protect: Protect;
  readonly world: World;
  readonly slices: Slices;
  readonly seed: number;
}

/** How a state is drawn: the more open, the higher. */
const heights: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 0.5, open: 1 };

/** An attempt that did not go well. One for all: a stack for each of a million would be most of the work here. */
const attemptFailed = new Error('The server failed.');

export class ProtectStage {
  private readonly protection: Protection;
  private readonly breaker: CircuitBreaker | undefined;
  private readonly circuit: Counter | undefined;
  private readonly states: string[] = [];
  private attempts = 0;
  private retries = 0;
  private throttled = 0;
  private shortCircuited = 0;
  private timedOut = 0;
  private opened = 0;
  private readonly has: Protect;

  constructor({ protect, world, slices, seed }: ProtectStageOptions) {
    this.has = protect;
    const { clock } = world;
    const chance = streamOf(seed, 'protect');
    const layers: Protection[] = [];
    if (protect.retry) layers.push(this.retrying(protect.retry, { clock, random: chance.fork().uniform }));
    if (protect.throttle) {
      const throttle = adaptiveThrottle({ ...protect.throttle, clock, random: chance.fork().uniform });
      throttle.on('refused', () => {
        this.throttled += 1;
      });
      layers.push(throttle);
    }
    if (protect.breaker) {
      this.breaker = circuitBreaker({ ...protect.breaker, clock, random: chance.fork().uniform });
      this.circuit = slices.counter('circuit', 'state');
      this.watch(this.breaker);
      layers.push(this.breaker);
    }
    if (protect.timeoutMs !== undefined) layers.push(this.timing(protect.timeoutMs, clock));
    this.protection = wrap(...layers) as Protection;
  }

  private retrying(
    options: NonNullable<Protect['retry']>,
    world: Pick<World, 'clock'> & { random: () => number },
  ): Protection {
    const { budget = {}, ...others } = options;
    const { clock } = world;
    // A hundred for each request is more than any call can take.
    const most = budget === 'none' ? { ratio: 100 } : budget;
    const retrying = retry({ ...others, ...world, budget: retryBudget({ ...most, clock }) });
    retrying.on('retry', () => {
      this.retries += 1;
    });
    return retrying;
  }

  private watch(breaker: CircuitBreaker): void {
    this.states.push('closed');
    breaker.on('refused', () => {
      this.shortCircuited += 1;
    });
    breaker.on('change', ({ to }) => {
      if (this.states.length < mostInWords) this.states.push(to);
      if (to === 'open') this.opened += 1;
    });
  }

  private timing(afterMs: number, clock: World['clock']): Protection {
    const timing = timeout(afterMs, { clock });
    timing.on('timed-out', () => {
      this.timedOut += 1;
    });
    return timing;
  }

  /** Makes the attempts that it may; whether one of them went well. */
  async run(attempt: (end: (isOk: boolean) => void) => void): Promise<boolean> {
    try {
      await this.protection.run(() => this.attempted(attempt));
      return true;
    } catch (error) {
      // What the protections say, and a failed attempt, are results here; anything else is a mistake of ours.
      if (error === attemptFailed || (error as Partial<SluiceError>).code !== undefined) return false;
      throw error;
    }
  }

  private attempted(attempt: (end: (isOk: boolean) => void) => void): Promise<void> {
    this.attempts += 1;
    return new Promise((resolve, reject) => {
      attempt((isOk) => (isOk ? resolve() : reject(attemptFailed)));
    });
  }

  endOfSlice(slice: number): void {
    if (this.breaker) this.circuit?.set(slice, heights[this.breaker.state]);
  }

  report({ measures, texts, notes }: Findings): void {
    const { has } = this;
    measures.put('attempts', this.attempts);
    if (has.retry) measures.put('retries', this.retries);
    if (has.throttle) measures.put('throttled', this.throttled);
    if (has.breaker) measures.put('shortCircuited', this.shortCircuited);
    if (has.breaker) measures.put('opened', this.opened);
    if (has.timeoutMs !== undefined) measures.put('timedOut', this.timedOut);
    if (!has.breaker) return;
    texts.set('states', this.states.join(' '));
    notes.push(`circuit: ${this.states.join(' ')}`);
  }
}
