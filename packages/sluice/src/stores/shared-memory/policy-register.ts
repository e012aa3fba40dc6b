/**
 * The policies that the threads use, each with its name, in the order in which they came: a row says by number which is its.
 *
 * A number belongs to whoever took it, for ever, so a thread that stops while it writes its entry harms nobody; an entry
 * counts when the sum of its text is there. The lock only keeps two threads from adding the same policy twice.
 */
import { parsePolicy } from '../../algorithms/parse-policy.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { BROKEN, type Layout, mostPolicies, POLICY_COUNT, policyEntryBytes, REGISTER_LOCK } from './layout.ts';
import { giveBack, take } from './lock.ts';

export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
  /** When the first limiter with it began. */
  readonly sinceMs: number;
}

// An entry, in words of 32 bits; the third and fourth are a time.
const SUM = 0;
const LENGTH = 1;
const TEXT = 4;
const entryWords = policyEntryBytes / 4;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class PolicyRegister {
  /** Those known here, by number. */
  readonly policies: (NamedPolicy | undefined)[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly times = new Map<string, number[]>();
  // By the policy itself: turning it into text each time would take longer than the rest of a check.
  private readonly remembered = new WeakMap<Policy, Map<string, number>>();
  // All entries before this one have been read.
  private allBefore = 0;
  private readonly layout: Layout;
  private readonly patienceMs: number;
  private readonly onPolicy: (policy: NamedPolicy) => void;

  constructor(layout: Layout, patienceMs: number, onPolicy: (policy: NamedPolicy) => void) {
    this.layout = layout;
    this.patienceMs = patienceMs;
    this.onPolicy = onPolicy;
  }

  /** Reads what other threads have added. */
  read(): void {
    const count = Math.min(mostPolicies, Atomics.load(this.layout.words, POLICY_COUNT));
    for (let number = this.allBefore; number < count; number += 1) if (!this.policies[number]) this.readEntry(number);
    while (this.allBefore < count && this.policies[this.allBefore]) this.allBefore += 1;
  }

  /** Where the time is before which keys of a name may have been forgotten, as an index of whole numbers; one per entry. */
  timesOf(name: string): readonly number[] {
    return this.times.get(name) ?? [];
  }

  /** The number of a policy, which is added if it is new. */
  numberOf(name: string, policy: Policy, sinceMs: number): number {
    let numbers = this.remembered.get(policy);
    const number = numbers?.get(name) ?? this.numberByText(name, policy, sinceMs);
    if (numbers === undefined) {
      numbers = new Map();
      this.remembered.set(policy, numbers);
    }
    numbers.set(name, number);
    return number;
  }

  private numberByText(name: string, policy: Policy, sinceMs: number): number {
    const text = JSON.stringify([name, policy]);
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    const { words } = this.layout;
    const token = take(words, REGISTER_LOCK, this.patienceMs, BROKEN);
    try {
      this.read();
      return this.numbers.get(text) ?? this.add({ name, policy, sinceMs }, text);
    } finally {
      giveBack(words, REGISTER_LOCK, token);
    }
  }

  private add(named: NamedPolicy, text: string): number {
    const { words, floats, buffer } = this.layout;
    const bytes = encoder.encode(JSON.stringify([named.name, named.policy, named.sinceMs]));
    if (bytes.length > policyEntryBytes - 4 * TEXT) {
      throw new SluiceError(
        'store-full',
        `A policy with its name takes ${bytes.length} bytes, too many. Use a shorter name.`,
      );
    }
    const number = Atomics.add(words, POLICY_COUNT, 1);
    if (number >= mostPolicies) {
      Atomics.sub(words, POLICY_COUNT, 1);
      throw new SluiceError(
        'store-full',
        `There are ${mostPolicies} policies in the shared memory. Limits that differ with each request do not fit here.`,
      );
    }
    const at = this.at(number);
    floats[at / 2 + 1] = Number.NEGATIVE_INFINITY;
    new Uint8Array(buffer, 4 * (at + TEXT)).set(bytes);
    words[at + LENGTH] = bytes.length;
    Atomics.store(words, at + SUM, sumOf(bytes));
    this.learn(number, named, text);
    return number;
  }

  private readEntry(number: number): void {
    const { words, buffer } = this.layout;
    const at = this.at(number);
    const sum = Atomics.load(words, at + SUM);
    // A decoder does not read shared memory.
    const bytes = new Uint8Array(buffer, 4 * (at + TEXT)).slice(0, words[at + LENGTH]);
    if (sum === 0 || sum !== sumOf(bytes)) return;
    const [name, data, sinceMs] = JSON.parse(decoder.decode(bytes)) as [string, { algorithm: string }, number];
    this.learn(number, { name, policy: parsePolicy(data), sinceMs }, JSON.stringify([name, data]));
  }

  private learn(number: number, named: NamedPolicy, text: string): void {
    this.policies[number] = named;
    this.times.set(named.name, [...(this.times.get(named.name) ?? []), this.at(number) / 2 + 1]);
    if (!this.numbers.has(text)) this.numbers.set(text, number);
    this.onPolicy(named);
  }

  private at(number: number): number {
    return this.layout.policies + number * entryWords;
  }
}

/** Never 0. */
function sumOf(bytes: Uint8Array): number {
  let sum = bytes.length;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x9e3779b1) ^ (sum >>> 15);
  return sum || 1;
}
