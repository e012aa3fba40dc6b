/**
 * What an owner carried out, as it travels to a standby. Nearly all of it are plain checks, and what these have in common, name and policy, is said once
 * in a message.
 *
 *      kinds   [name, policy] [name, policy] ...
 *      steps   a plain check: time, kind, key, cost │ anything else: time, its whole batch │ ...      step-bytes.ts
 */
import { type Policy, SluiceError } from 'sluice';
import { isCancel } from './done-once.ts';
import type { OwnedCheck, OwnedPolicies, OwnedPolicy } from './owned-policy.ts';
import type { Shard } from './shard.ts';
import { keyOf, StepBytes, StepWriter } from './step-bytes.ts';
import { mustBeChecks, type PolicyTexts, policyText, type WireCheck, wireOfCheck } from './wire-check.ts';

/** A policy as the caller gave it: the standby works out the applied one by itself. */
export type WireKind = readonly [name: string, policy: string];

/** The kinds of one message, each of them once. */
export class Kinds {
  readonly all: WireKind[] = [];
  private readonly places = new Map<Policy, Map<string, number>>();
  /** What came last comes next, nearly always. */
  private last: { readonly name: string; readonly policy: Policy; readonly place: number } | undefined;

  placeOf(name: string, policy: Policy): number {
    if (this.last?.name === name && this.last.policy === policy) return this.last.place;
    let byName = this.places.get(policy);
    if (byName === undefined) {
      byName = new Map();
      this.places.set(policy, byName);
    }
    let place = byName.get(name);
    if (place === undefined) {
      place = this.all.push([name, policyText(policy)]) - 1;
      byName.set(name, place);
    }
    this.last = { name, policy, place };
    return place;
  }
}

/**
 * What a shard carried out since the last message, as it will travel. Written as it happens: an object for each step would live until the message is
 * confirmed, which makes it dear to the collector, and be read when it is cold.
 */
export class Steps {
  private readonly writer = new StepWriter();
  /** Of the message that they are for. */
  private kinds: Kinds | undefined;

  get isEmpty(): boolean {
    return this.writer.length === 0;
  }

  /** Until the next one is added. */
  get written(): Uint8Array {
    return this.writer.written;
  }

  addPlain(kinds: Kinds, atMs: number, name: string, key: string, cost: number, policy: Policy): void {
    if (this.kinds !== kinds) this.kinds = kinds;
    if (this.writer.plain(kinds.placeOf(name, policy), atMs, cost, key)) return;
    this.add(atMs, [wireOfCheck({ name, key, policy, cost })]);
  }

  addBatch(atMs: number, batch: readonly OwnedCheck[]): void {
    this.add(
      atMs,
      batch.map((check) => wireOfCheck(check, check.owned.policy)),
    );
  }

  private add(atMs: number, checks: readonly WireCheck[]): void {
    this.writer.batch(atMs, JSON.stringify(checks));
  }

  /** How much of which key, one after the other. */
  forEachCost(visit: (name: string, key: string, cost: number) => void): void {
    const { written, kinds } = this;
    new StepBytes(written).visit(0, written.length, {
      plain(kind, _atMs, cost, bytes, start, end) {
        visit(kinds!.all[kind]![0], keyOf(bytes, start, end), cost);
        return true;
      },
      batch(_atMs, json) {
        for (const check of mustBeChecks(json)) visit(check.name, check.key, costOf(check));
        return true;
      },
    });
  }

  /** There are none. */
  clear(): void {
    this.writer.clear();
    this.kinds = undefined;
  }
}

/** A reservation may turn out to have taken more than was reserved. */
export function costOf({ cost, actual = 0 }: Pick<WireCheck, 'cost' | 'actual'>): number {
  return Math.max(cost, actual);
}

/**
 * Whether room for what its owner may be ahead by does not make up for what a copy without it would get wrong. A renewal keeps all that its lease holds,
 * which it does not say; a block refuses everything, and may last for longer than whoever takes over is in doubt; and so may somebody wait who was told
 * that something was given back, and sends that again: what others use by then would be given back.
 */
export function mustBeCopied(check: OwnedCheck): boolean {
  const { operation, once } = check;
  return operation === 'renew' || operation === 'block' || (once !== undefined && givesBack(check) && !isCancel(once));
}

function givesBack({ operation, cost, actual = 0 }: OwnedCheck): boolean {
  return operation === 'reward' || operation === 'reset' || (operation === 'settle' && actual < cost);
}

/** Reads the steps of a message. */
export class StepReader {
  private readonly kinds: readonly WireKind[];
  /** Of each kind, once it has come up: one that cannot be read concerns no other shard than those that have it. */
  private readonly owned: OwnedPolicy[] = [];
  private readonly steps: StepBytes;
  private readonly policies: OwnedPolicies;
  private readonly texts: PolicyTexts;

  constructor(kinds: readonly WireKind[], steps: Uint8Array, policies: OwnedPolicies, texts: PolicyTexts) {
    this.kinds = kinds;
    this.steps = new StepBytes(steps);
    this.policies = policies;
    this.texts = texts;
  }

  /** Does those from `start` up to `end` again. False when one of them came to another end here. */
  repeat(shard: Shard, start: number, end: number): boolean {
    return this.steps.visit(start, end, {
      plain: (kind, atMs, cost, bytes, from, to) =>
        shard.repeatPlain(this.nameOf(kind), bytes, from, to, cost, this.ownedOf(kind), atMs),
      batch: (atMs, json) => {
        const checks = mustBeChecks(json).map((check) =>
          this.policies.ownedCheck(this.texts.checkOf(check), check.once),
        );
        return shard.repeat(checks, atMs);
      },
    });
  }

  private nameOf(kind: number): string {
    const known = this.kinds[kind];
    if (known === undefined)
      throw new SluiceError('invalid-option', `kind must be below ${this.kinds.length}, got ${kind}`);
    return known[0];
  }

  private ownedOf(kind: number): OwnedPolicy {
    this.owned[kind] ??= this.policies.of(this.texts.policyOf(this.kinds[kind]![1]));
    return this.owned[kind];
  }
}
