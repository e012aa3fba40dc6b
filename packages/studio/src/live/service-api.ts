/** Questions to the service that this page comes from. Addresses are relative, so that it may stand in a folder behind a proxy. */
export interface ServiceReply {
  /** 0: nobody answered. */
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON as data; anything else as text. */
  readonly body: unknown;
}

export interface ServiceApi {
  readonly hasToken: boolean;
  addressOf(path: string): string;
  /** Never rejects: that nobody answered is an answer too, of status 0. */
  ask(method: string, path: string, body?: unknown): Promise<ServiceReply>;
}

const longestWaitMs = 15_000;

export function serviceApi(base: string, token: string | undefined): ServiceApi {
  const addressOf = (path: string) => new URL(path, base).href;
  return {
    hasToken: token !== undefined,
    addressOf,
    async ask(method, path, body) {
      try {
        const response = await fetch(addressOf(path), {
          method,
          cache: 'no-store',
          signal: AbortSignal.timeout(longestWaitMs),
          headers: {
            ...(token !== undefined && { Authorization: `Bearer ${token}` }),
            ...(body !== undefined && { 'Content-Type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return await replyOf(response);
      } catch (error) {
        const detail = `The service did not answer: ${(error as Error).message}.`;
        return { status: 0, statusText: 'No answer', headers: [], body: { detail } };
      }
    },
  };
}

async function replyOf(response: Response): Promise<ServiceReply> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  const isJson = /^application\/(problem\+)?json/.test(headers.get('content-type') ?? '');
  return { status, statusText, headers: [...headers], body: isJson ? JSON.parse(text) : text };
}

export function isOk({ status }: ServiceReply): boolean {
  return status >= 200 && status < 300;
}

/** What is wrong, in the words of the service. */
export function problemText({ status, statusText, body }: ServiceReply): string {
  const { detail } = (typeof body === 'object' && body !== null ? body : {}) as { readonly detail?: unknown };
  return typeof detail === 'string' ? detail : `The service answered ${status} ${statusText}.`;
}

/** Not as a part of the path, where the keys `.` and `..`, encoded or not, would be steps through folders and gone before they are sent. */
export function keyPath(area: 'keys' | 'overrides', rule: string, key: string): string {
  return `v1/${area}/${encodeURIComponent(rule)}?key=${encodeURIComponent(key)}`;
}

/** A decision as it comes over the wire. */
export interface DecisionData {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Null: waiting never helps. */
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number | null;
  readonly delayMs: number;
  readonly rule: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly reason?: string;
  readonly shadow?: true;
  readonly degraded?: string;
  readonly remembered?: true;
}

export interface OverrideData {
  readonly limit?: number;
  readonly window?: number | string;
  readonly burst?: number;
  readonly expiresIn?: number | string;
}

export interface ActiveOverrideData {
  readonly rule: string;
  readonly key: string;
  readonly override: OverrideData;
  /** Null: it has no end. */
  readonly expiresAtMs: number | null;
}

export interface KeyStateData {
  readonly rule: string;
  readonly key: string;
  readonly decision: DecisionData;
  readonly override?: ActiveOverrideData;
}
