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
import { StepBytes, type StepWriter } from './step-bytes.ts';
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

interface Step {
  readonly atMs: number;
  readonly name: string;
  readonly key: string;
  readonly cost: number;
  readonly policy: Policy;
  /** In place of all but the time. */
  readonly batch: readonly OwnedCheck[] | undefined;
}

/** What a shard carried out since the last message. */
export class Steps {
  private readonly all: Step[] = [];

  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  addPlain(atMs: number, name: string, key: string, cost: number, policy: Policy): void {
    this.all.push({ atMs, name, key, cost, policy, batch: undefined });
  }

  addBatch(atMs: number, batch: readonly OwnedCheck[]): void {
    const { name, key, cost, owned } = batch[0]!;
    this.all.push({ atMs, name, key, cost, policy: owned.policy, batch });
  }

  /** How much of which key, one after the other. */
  forEachCost(visit: (name: string, key: string, cost: number) => void): void {
    for (const { name, key, cost, batch } of this.all) {
      if (batch === undefined) visit(name, key, cost);
      else for (const check of batch) visit(check.name, check.key, costOf(check));
    }
  }

  /** Says how many bytes it took. */
  write(kinds: Kinds, writer: StepWriter): number {
    const start = writer.length;
    for (const { atMs, name, key, cost, policy, batch } of this.all) {
      if (batch !== undefined)
        writeBatch(
          writer,
          atMs,
          batch.map((check) => wireOfCheck(check, check.owned.policy)),
        );
      else if (!writer.plain(kinds.placeOf(name, policy), atMs, cost, key))
        writeBatch(writer, atMs, [wireOfCheck({ name, key, policy, cost })]);
    }
    return writer.length - start;
  }
}

function writeBatch(writer: StepWriter, atMs: number, checks: readonly WireCheck[]): void {
  writer.batch(atMs, JSON.stringify(checks));
}

/** A reservation may turn out to have taken more than was reserved. */
export function costOf({ cost, actual = 0 }: OwnedCheck): number {
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
