/** What the headers say, as plain data. */

/** One limit, as far as the server speaks of it. */
export interface ParsedPolicy {
  /** Its name; `default` where it has none. */
  readonly name: string;
  /** The quota: so many per window. */
  readonly limit?: number;
  /** Whole units that are left. No promise: others may use them first. */
  readonly remaining?: number;
  readonly windowMs?: number;
  /** For so long what remains has to do; in most dialects, until everything is back. */
  readonly resetAfterMs?: number;
  /** What is counted, where it is not requests: `content-bytes`, `concurrent-requests`, `tokens`. */
  readonly unit?: string;
  /** Whose quota it is, in base64, where the server tells. */
  readonly partitionKey?: string;
  /** What this request has cost, where the server tells. */
  readonly cost?: number;
}

export interface ParsedRateLimit {
  readonly policies: readonly ParsedPolicy[];
  /** Of the limits of which is known how much is left: the one with the smallest share left. */
  readonly tightest?: ParsedPolicy;
  /** What `Retry-After` says. */
  readonly retryAfterMs?: number;
  /** How long to wait before the next call: `Retry-After`, else until the last of the limits with nothing left is back. 0: no need. */
  readonly waitMs: number;
}

/** One that is being put together. */
export type DraftPolicy = { -readonly [Field in keyof ParsedPolicy]: ParsedPolicy[Field] };

/** What is left of a limit that may have no name. */
export type Reading = Omit<DraftPolicy, 'name'> & { name?: string };

type Sparse<T> = { readonly [Field in keyof T]: T[Field] | undefined };

/** Without the fields that nothing is known of: a field that is there has a value. */
export function present<T extends object>(fields: Sparse<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
