/** Discrete events in front of an admission: clients that send at random moments of a seed, and a service that takes its time. */
import { seededRandom, TestClock } from 'sluice/testing';
import type { AdmissionConfig } from '../../config/gateway-config.ts';
import { configOf, turn } from './admission.test-support.ts';
import { openAdmission } from './admission.ts';
import type { Admission, Admitted, Refused } from './admission-types.ts';

export interface Traffic {
  readonly tenant: string;
  readonly priority?: number;
  readonly perSecond: number;
  readonly serviceMs: number;
}

/** What became of one request. */
export interface Finished {
  readonly tenant: string;
  readonly priority: number;
  readonly answer: Admitted | Refused;
  readonly serviceMs: number;
}

export class Simulation {
  readonly clock = new TestClock();
  readonly admission: Admission;
  readonly finished: Finished[] = [];
  private readonly events: { readonly atMs: number; readonly act: () => void }[] = [];

  constructor(config: Partial<AdmissionConfig>) {
    this.admission = openAdmission(configOf(config), this.clock);
  }

  at(atMs: number, act: () => void): void {
    // Few at a time, as everybody plans only the next. By when they are due, the next last.
    let index = this.events.length;
    while (index > 0 && this.events[index - 1]!.atMs <= atMs) index -= 1;
    this.events.splice(index, 0, { atMs, act });
  }

  /** Arrivals at random, on average so many in a second: the same ones for the same seed, whoever else sends. */
  send({ tenant, priority = 5, perSecond, serviceMs }: Traffic, seed: number): void {
    const random = seededRandom(seed);
    const sendLater = () => {
      const afterMs = (-Math.log(1 - random()) * 1000) / perSecond;
      this.at(this.clock.now() + afterMs, () => {
        this.request(tenant, priority, () => ({ serviceMs, outcome: 'ok' }));
        sendLater();
      });
    };
    sendLater();
  }

  /** One request; how long it takes and how it ends is asked when it begins. */
  request(
    tenant: string,
    priority: number,
    serve: () => { readonly serviceMs: number; readonly outcome: 'ok' | 'failed' },
  ): void {
    void Promise.resolve(this.admission.enter({ tenant, priority })).then((answer) => {
      if (!answer.isAdmitted) {
        this.finished.push({ tenant, priority, answer, serviceMs: 0 });
        return;
      }
      const { serviceMs, outcome } = serve();
      this.at(this.clock.now() + serviceMs, () => {
        answer[outcome]();
        this.finished.push({ tenant, priority, answer, serviceMs });
      });
    });
  }

  async run(untilMs: number): Promise<void> {
    for (let next = this.events.pop(); next && next.atMs <= untilMs; next = this.events.pop()) {
      if (next.atMs > this.clock.now()) this.clock.set(next.atMs);
      next.act();
      await turn();
    }
  }

  /** How much of the service each tenant had, as a share of what the first had. */
  shares(tenants: string): number[] {
    const had = [...tenants].map((tenant) =>
      this.finished.reduce((sum, one) => sum + (one.tenant === tenant ? one.serviceMs : 0), 0),
    );
    return had.map((ms) => ms / had[0]!);
  }
}
