/** The Lua that a call needs: the engine with the twins of the algorithms in it, and no others. */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { parts, shared, type Twin, twins } from './lua.generated.ts';

export interface Script {
  /** The twins in it, in the order of their names. */
  readonly twins: readonly string[];
  readonly source: string;
  /** What the server knows it by. */
  readonly sha: Promise<string>;
}

/** The ways through a script, with what some twins need; what calls them comes behind. */
export function sourceOf(names: readonly string[]): string {
  const needed = new Set(names.flatMap((name) => twins[name]?.needs ?? []));
  const engine = [
    parts.engine,
    ...Array.from(needed, (name) => shared[name] as string),
    ...names.map((name) => (twins[name] as Twin).source),
    parts['short-way'],
    parts['long-way'],
    parts.ways,
  ];
  return [
    parts.prelude,
    ...(needed.has('bucket') ? [parts['bucket-way']] : []),
    'local function engine()',
    ...engine,
    'end',
    parts.run,
  ].join('\n');
}

const scripts = new Map<string, Script>();

/** The script with these twins. */
export function scriptOf(names: ReadonlySet<string>): Script {
  const sorted = [...names].sort();
  const text = sorted.join(' ');
  const known = scripts.get(text);
  if (known) return known;
  const source = `${sourceOf(sorted)}\n${parts.script}`;
  const script = { twins: sorted, source, sha: sha1(source) };
  scripts.set(text, script);
  return script;
}

/** The SHA-1 of a text in hexadecimal. */
export async function sha1(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The name of the twin with this code. */
export function twinWithCode(code: number): string | undefined {
  return Object.keys(twins).find((name) => twins[name]?.code === code);
}

/** A policy as the engine reads it. */
export interface PolicyText {
  readonly twin: string;
  readonly text: string;
  /** The most that could ever pass at once. */
  readonly limit: number;
  /** Whether checks of it are fit for the short way: a key never seen is as good as new, and a refusal writes nothing. */
  readonly isPlain: boolean;
}

/** Policies as texts, each worked out once. Strict windows are longer by `wideningMs`. */
export function policyTexts(wideningMs: number): (policy: Policy, retainMs: number) => PolicyText {
  const known = new WeakMap<Policy, Map<number, PolicyText>>();
  return (policy, retainMs) => {
    const forms = known.get(policy) ?? new Map<number, PolicyText>();
    known.set(policy, forms);
    const form = forms.get(retainMs) ?? writePolicy(policy, wideningMs, retainMs && retainMs + wideningMs);
    forms.set(retainMs, form);
    return form;
  };
}

/** A policy's twin and its numbers; those of strict ones tell so much of the past. */
function writePolicy(policy: Policy, wideningMs: number, retainMs: number): PolicyText {
  const algorithm = algorithmOf(policy);
  const name = algorithm.twin ?? algorithm.name;
  const prepared = algorithm.prepare(policy, algorithm.strict ? wideningMs : 0, retainMs);
  const numbers: Readonly<Record<string, unknown>> = { ...prepared };
  const values = (twins[name] as Twin).fields.map((field) => {
    const value = Number(numbers[field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]);
    if (Number.isNaN(value)) throw new TypeError(`${name} has no number ${field}`);
    return value === Number.POSITIVE_INFINITY ? 'inf' : String(value);
  });
  const isPlain = !algorithm.idles && !prepared.countRejected && (algorithm.lingerMs?.(prepared) ?? 0) === 0;
  return { twin: name, text: [name, ...values].join(' '), limit: prepared.limit, isPlain };
}
