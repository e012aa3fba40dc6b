/**
 * What an owner carried out, as it travels to a standby: a flat list, four entries for each step. Nearly all of them are plain checks, and what these
 * have in common, name and policy, is said once in a message.
 *
 *      kinds   [name, policy] [name, policy] ...
 *      steps   at, kind, key, cost │ at, kind, key, cost │ at, -1, checks, 0 │ ...
 *                  a plain check                               anything else: its whole batch
 */
import { type Policy, SluiceError } from 'sluice';
import type { OwnedCheck, OwnedPolicies, OwnedPolicy } from './owned-policy.ts';
import type { Shard } from './shard.ts';
import { type PolicyTexts, policyText, type WireCheck, wireOfCheck } from './wire-check.ts';

/** When, by the owner's time for the shard; which kind; the key, or the batch; the cost. */
export type WireSteps = readonly (number | string | readonly WireCheck[])[];
/** A policy as the caller gave it: the standby works out the applied one by itself. */
export type WireKind = readonly [name: string, policy: string];

export const entriesPerStep = 4;
export const batchKind = -1;

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

  wire(kinds: Kinds): WireSteps {
    const wire: (number | string | readonly WireCheck[])[] = [];
    for (const { atMs, name, key, cost, policy, batch } of this.all) {
      if (batch === undefined) wire.push(atMs, kinds.placeOf(name, policy), key, cost);
      else
        wire.push(
          atMs,
          batchKind,
          batch.map((check) => wireOfCheck(check, check.owned.policy)),
          0,
        );
    }
    return wire;
  }
}

/** A reservation may turn out to have taken more than was reserved. */
export function costOf({ cost, actual = 0 }: OwnedCheck): number {
  return Math.max(cost, actual);
}

/**
 * Whether no number bounds what a copy without it would get wrong. A renewal keeps all that its lease holds, which it does not say; a block refuses
 * everything, and may last for longer than whoever takes over is in doubt.
 */
export function mustBeCopied({ operation }: OwnedCheck): boolean {
  return operation === 'renew' || operation === 'block';
}

/** Reads the steps of a message. */
export class StepReader {
  private readonly kinds: readonly WireKind[];
  /** Of each kind, once it has come up: one that cannot be read concerns no other shard than those that have it. */
  private readonly owned: OwnedPolicy[] = [];
  private readonly policies: OwnedPolicies;
  private readonly texts: PolicyTexts;

  constructor(kinds: readonly WireKind[], policies: OwnedPolicies, texts: PolicyTexts) {
    this.kinds = kinds;
    this.policies = policies;
    this.texts = texts;
  }

  /** Does them again. False when one of them came to another end here. */
  repeat(shard: Shard, steps: WireSteps): boolean {
    for (let i = 0; i < steps.length; i += entriesPerStep) {
      const atMs = steps[i] as number;
      const kind = steps[i + 1] as number;
      const isSame =
        kind === batchKind
          ? this.repeatBatch(shard, steps[i + 2] as readonly WireCheck[], atMs)
          : this.repeatPlain(shard, kind, steps[i + 2] as string, steps[i + 3] as number, atMs);
      if (!isSame) return false;
    }
    return true;
  }

  private repeatBatch(shard: Shard, checks: readonly WireCheck[], atMs: number): boolean {
    return shard.repeat(
      checks.map((check) => this.policies.ownedCheck(this.texts.checkOf(check))),
      atMs,
    );
  }

  private repeatPlain(shard: Shard, kind: number, key: string, cost: number, atMs: number): boolean {
    const known = this.kinds[kind];
    if (known === undefined)
      throw new SluiceError('invalid-option', `kind must be below ${this.kinds.length}, got ${kind}`);
    const [name, policy] = known;
    this.owned[kind] ??= this.policies.of(this.texts.policyOf(policy));
    return shard.repeatPlain(name, key, cost, this.owned[kind], atMs);
  }
}
