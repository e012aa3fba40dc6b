/** What is sent back: made by a route, written by the door. */
export interface Reply {
  readonly status: number;
  /** The content type; empty where there is no body. */
  readonly type: string;
  readonly body: string;
  /** Further headers, name and value in turn. */
  readonly headers: readonly string[];
}

export const jsonType = 'application/json';
export const problemType = 'application/problem+json';
export const plainType = 'text/plain; charset=utf-8';

const noHeaders: readonly string[] = [];

export function jsonReply(value: unknown, status = 200): Reply {
  return { status, type: jsonType, body: jsonText(value), headers: noHeaders };
}

export function textReply(body: string, type = plainType): Reply {
  return { status: 200, type, body, headers: noHeaders };
}

export const emptyReply: Reply = { status: 204, type: '', body: '', headers: noHeaders };

/** JSON has no Infinity. What never ends, or never helps, is null. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, one) => (one === Number.POSITIVE_INFINITY ? null : one));
}
