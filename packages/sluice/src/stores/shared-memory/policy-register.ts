/** The policies that the threads use, each with its name, in the order in which they came: a row says by number which is its. */
import { parsePolicy } from '../../algorithms/parse-policy.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { type Layout, POLICY_BYTES, POLICY_COUNT, policyTextBytes, REGISTRY_LOCK } from './layout.ts';
import { giveBack, take } from './lock.ts';

export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
  /** When the first limiter with it began. */
  readonly sinceMs: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class PolicyRegister {
  /** Those known here, by number. */
  readonly policies: NamedPolicy[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly layout: Layout;
  private readonly patienceMs: number;
  private readonly onPolicy: (policy: NamedPolicy) => void;
  // The policy about to be added, as the caller built it.
  private readonly own = new Map<string, Policy>();
  private readBytes = 0;

  constructor(layout: Layout, patienceMs: number, onPolicy: (policy: NamedPolicy) => void) {
    this.layout = layout;
    this.patienceMs = patienceMs;
    this.onPolicy = onPolicy;
  }

  /** Reads what other threads have added. */
  read(): void {
    const { words, policyText } = this.layout;
    const count = Atomics.load(words, POLICY_COUNT);
    while (this.policies.length < count) {
      const view = new DataView(policyText.buffer, policyText.byteOffset);
      const bytes = view.getUint32(this.readBytes);
      // A decoder does not read shared memory.
      const text = decoder.decode(policyText.slice(this.readBytes + 4, this.readBytes + 4 + bytes));
      this.readBytes += 4 + bytes;
      const [name, data, sinceMs] = JSON.parse(text) as [string, { algorithm: string }, number];
      const key = JSON.stringify([name, data]);
      const named = { name, policy: this.own.get(key) ?? parsePolicy(data), sinceMs };
      this.numbers.set(key, this.policies.push(named) - 1);
      this.onPolicy(named);
    }
  }

  /** The number of a policy, which is added if it is new. */
  numberOf(name: string, policy: Policy, sinceMs: number): number {
    const text = JSON.stringify([name, policy]);
    this.own.set(text, policy);
    this.read();
    this.own.clear();
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.own.set(text, policy);
    return this.add(text, JSON.stringify([name, policy, sinceMs]));
  }

  private add(text: string, entry: string): number {
    const { words, policyText } = this.layout;
    for (;;) {
      take(words, REGISTRY_LOCK, this.patienceMs);
      const token = Atomics.load(words, REGISTRY_LOCK);
      this.read();
      const known = this.numbers.get(text);
      if (known === undefined) {
        const bytes = encoder.encode(entry);
        // The bytes come first and the count last: whoever dies in between has added nothing.
        const at = this.readBytes;
        if (at + 4 + bytes.length > policyTextBytes) {
          giveBack(words, REGISTRY_LOCK, token);
          throw new SluiceError(
            'store-full',
            'There is no room for one more policy in the shared memory. Limits that differ with each request do not fit here.',
          );
        }
        new DataView(policyText.buffer, policyText.byteOffset).setUint32(at, bytes.length);
        policyText.set(bytes, at + 4);
        Atomics.store(words, POLICY_BYTES, at + 4 + bytes.length);
        // Not if the lock was broken: another thread may have written to the same place.
        const count = this.policies.length;
        if (Atomics.load(words, REGISTRY_LOCK) === token)
          Atomics.compareExchange(words, POLICY_COUNT, count, count + 1);
      }
      giveBack(words, REGISTRY_LOCK, token);
      this.read();
      const number = this.numbers.get(text);
      if (number !== undefined) return number;
    }
  }
}
