/** Batches of checks as long-way.lua, short-way.lua and bucket-way.lua read them, and its reply as decisions. */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Check } from '../store.ts';
import type { PolicyText } from './script.ts';

/** A check with where it goes. */
export interface Routed {
  readonly check: Check;
  /** The key in Redis. */
  readonly key: string;
  readonly policy: PolicyText;
}

/** One batch as it is sent. */
export interface Batch {
  readonly checks: readonly Routed[];
  /** The caller's own time. */
  readonly atMs: number | undefined;
  /** Where the answer is remembered, and for how long. */
  readonly request: { readonly key: string; readonly replayMs: number } | undefined;
}

/** One or more batches of the same time on their way to the server. */
export interface Message {
  /** The algorithms in it. */
  readonly twins: Set<string>;
  /** Some key of it: all of them live where this one does. */
  readonly key: string;
  /** What follows the script in the command: the keys, counted, and the arguments. */
  readonly args: string[];
}

/** `nowMs` is the time of the clock that the checks' own times are by. */
export function messageOf(batches: readonly Batch[], nowMs: number): Message {
  const { checks: firstChecks, atMs: ownMs = '' } = batches[0] as Batch;
  const first = firstChecks[0] as Routed;
  const at = String(ownMs);
  const isPlain = batches.every(isPlainBatch);
  const twins = new Set<string>([first.policy.twin]);
  if (isPlain && batches.every(({ checks }) => areLike(firstChecks, checks))) {
    const texts: string[] = [];
    for (const { policy } of firstChecks) {
      twins.add(policy.twin);
      texts.push(policy.text);
    }
    const args = [String(batches.length * firstChecks.length)];
    for (const { checks } of batches) for (const { key } of checks) args.push(key);
    args.push(at, texts.join('\n'), 'each', 'plain');
    return { twins, key: first.key, args };
  }
  const keys = new Places();
  const policies = new Places();
  const lines: string[] = [];
  for (const { checks, atMs, request } of batches) {
    for (const [i, routed] of checks.entries()) {
      const { check, key, policy } = routed;
      twins.add(policy.twin);
      const what = `${i === 0 ? '+' : ''}${isPlain ? '' : `${check.operation ?? 'check'} `}`;
      const which = `${keys.of(key)} ${policies.of(policy.text)} ${check.cost}`;
      const more = isPlain ? '' : details(check, atMs ?? nowMs);
      const id = i === 0 && request ? ` request=${keys.of(request.key)} replay=${request.replayMs}` : '';
      lines.push(what + which + more + id);
    }
  }
  const all = keys.all();
  const args = [String(all.length), ...all, at, policies.all().join('\n'), lines.join('\n')];
  return { twins, key: first.key, args: isPlain ? [...args, 'plain'] : args };
}

/** Texts by their places from 1 on, each once. */
class Places {
  private readonly places = new Map<string, number>();

  of(text: string): number {
    const known = this.places.get(text);
    if (known !== undefined) return known;
    this.places.set(text, this.places.size + 1);
    return this.places.size;
  }

  all(): string[] {
    return [...this.places.keys()];
  }
}

/** Whether all of a batch is fit for the short way: see short-way.lua. */
function isPlainBatch({ checks, request }: Batch): boolean {
  if (request !== undefined) return false;
  for (let i = 0; i < checks.length; i += 1) {
    const { check, key, policy } = checks[i] as Routed;
    if (!policy.isPlain || check.cost === 0 || check.shadow) return false;
    if (check.operation !== undefined && check.operation !== 'check') return false;
    if (check.maxDelayMs !== undefined || (check.changedMs ?? check.sinceMs) !== check.sinceMs) return false;
    for (let before = 0; before < i; before += 1) if (checks[before]?.key === key) return false;
  }
  return true;
}

/** Whether two batches differ in their keys only, and every cost is 1. */
function areLike(some: readonly Routed[], others: readonly Routed[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < others.length; i += 1) {
    const { check, policy } = others[i] as Routed;
    if (check.cost !== 1 || policy !== some[i]?.policy) return false;
  }
  return true;
}

/** What a plain check does not have. Times go as how long ago they were: the server's clock is another. */
function details(check: Check, nowMs: number): string {
  const { shadow, maxDelayMs, sinceMs, changedMs, actual, durationMs, receipt, policy } = check;
  let text = shadow ? ' shadow=1' : '';
  if (maxDelayMs !== undefined && maxDelayMs !== Number.POSITIVE_INFINITY) text += ` delay=${maxDelayMs}`;
  if (algorithmOf(policy).idles && sinceMs !== undefined) text += ` idle=${nowMs - sinceMs}`;
  // Since the beginning means: since before any state that could be found.
  if (changedMs !== undefined && changedMs !== sinceMs) text += ` changed=${nowMs - changedMs}`;
  if (actual !== undefined) text += ` actual=${actual}`;
  if (durationMs !== undefined) text += ` duration=${durationMs}`;
  if (receipt !== undefined && receipt.length > 0) text += ` receipt=${receipt.join(',')}`;
  return text;
}

/** How many parts of a reply belong to one check. */
export const partsPerCheck = 3;

/** The decision on a check, from its parts of the reply. */
export function decisionOf({ check, policy }: Routed, reply: readonly unknown[], from: number): Decision {
  const first = reply[from];
  let waitMs: number;
  let delayMs = 0;
  let words: readonly string[] | undefined;
  // A text where there is more to it than the wait. A client may be set to give numbers as text, or texts as bytes.
  if (typeof first === 'number') waitMs = first;
  else {
    const [wait, delay = 0, ...more] = String(first).trim().split(' ');
    waitMs = Number(wait);
    delayMs = Number(delay);
    words = more;
  }
  const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
    allowed: waitMs === 0,
    limit: policy.limit,
    remaining: Number(reply[from + 1]),
    retryAfterMs: waitMs < 0 ? Number.POSITIVE_INFINITY : waitMs,
    resetAfterMs: Number(reply[from + 2]),
    delayMs,
    rule: check.name,
    policy: check.policy,
  };
  if (waitMs !== 0) decision.reason = 'limit';
  if (check.shadow) decision.shadow = true;
  if (Number.isNaN(waitMs + decision.remaining + decision.resetAfterMs + decision.delayMs)) throw unreadable(first);
  if (words) readWords(decision, words);
  return decision;
}

function readWords(decision: { -readonly [Field in keyof Decision]: Decision[Field] }, words: readonly string[]): void {
  for (const word of words) {
    const [name, value = ''] = word.split('=');
    if (name === 'blocked' || name === 'quarantine') decision.reason = name;
    else if (name === 'gone') decision.allowed = false;
    else if (name === 'granted') decision.granted = Number(value);
    else if (name === 'receipt') decision.receipt = value.split(',').map(Number) as Receipt;
    else throw unreadable(word);
  }
}

function unreadable(reply: unknown): SluiceError {
  return new SluiceError('store-unavailable', `Redis answered something unexpected: ${String(reply).slice(0, 80)}`);
}
