/** Admissions under a clock of the test's own, and requests that are told apart by a name. */
import { TestClock } from 'sluice/testing';
import type { AdmissionConfig } from '../../config/gateway-config.ts';
import { openAdmission } from './admission.ts';
import type { Admission, Admitted, Refused } from './admission-types.ts';

export function configOf(changes: Partial<AdmissionConfig> = {}): AdmissionConfig {
  return {
    name: 'main',
    concurrency: 1,
    queue: 100,
    queueTimeoutMs: 1_000_000,
    tenant: { from: 'header', name: 'x-tenant' },
    weights: {},
    defaultWeight: 1,
    priority: { from: 'header', name: 'x-priority' },
    priorities: {},
    ageingMs: 0,
    ...changes,
  };
}

/** Lets everything happen that waits for nothing but its turn. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 4; i += 1) await undefined;
}

export class Trial {
  readonly clock = new TestClock();
  readonly admission: Admission;
  /** What became of requests, in the order in which it did: `1`: has a place; `2 shed`: has none. */
  readonly told: string[] = [];
  readonly answers = new Map<string, Admitted | Refused>();
  readonly inFlight: Admitted[] = [];
  private readonly leaving = new Map<string, AbortController>();

  constructor(changes: Partial<AdmissionConfig> = {}) {
    this.admission = openAdmission(configOf(changes), this.clock);
  }

  /** `1a5`: the request 1, of tenant a, with priority 5. */
  async ask(text: string): Promise<void> {
    const [, name, tenant, priority] = /^(\d+)([a-z]*)(\d)$/.exec(text) as unknown as [string, string, string, string];
    const leaving = new AbortController();
    this.leaving.set(name, leaving);
    const answer = this.admission.enter({ tenant, priority: Number(priority), signal: leaving.signal });
    if (answer instanceof Promise) void answer.then((later) => this.note(name, later));
    else this.note(name, answer);
    await turn();
  }

  /** Several, separated by spaces. */
  async askAll(texts: string): Promise<void> {
    for (const text of texts.split(' ')) await this.ask(text);
  }

  async leave(name: string): Promise<void> {
    this.leaving.get(name)!.abort();
    await turn();
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turn();
  }

  /** The one that has had its place for longest ends, after so long. */
  async end(afterMs = 0, outcome: 'ok' | 'failed' | 'ignored' = 'ok'): Promise<void> {
    this.clock.advance(afterMs);
    this.inFlight.shift()![outcome]();
    await turn();
  }

  /** Ends one after another until nobody is left, and says who had places since. */
  async order(eachMs = 10): Promise<string> {
    const from = this.told.length;
    while (this.inFlight.length > 0) await this.end(eachMs);
    return this.told.slice(from).join(' ');
  }

  private note(name: string, answer: Admitted | Refused): void {
    if (this.answers.has(name)) throw new Error(`${name} was answered twice.`);
    this.answers.set(name, answer);
    this.told.push(answer.isAdmitted ? name : `${name} ${answer.reason}`);
    if (answer.isAdmitted) this.inFlight.push(answer);
  }
}
