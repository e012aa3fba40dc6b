/** What is sent back: made by a route, written by the door. */
import type { ServerResponse } from 'node:http';

export interface Reply {
  readonly status: number;
  /** The content type; empty where there is no body. */
  readonly type: string;
  readonly body: string;
  /** Further headers, name and value in turn. */
  readonly headers: readonly string[];
  /** In place of the body: a file as it is. */
  readonly bytes?: Buffer;
  /** In place of the body: writes on and on, once the head is sent. */
  readonly stream?: (response: ServerResponse) => void;
}

export const jsonType = 'application/json';
export const problemType = 'application/problem+json';
export const plainType = 'text/plain; charset=utf-8';
export const htmlType = 'text/html; charset=utf-8';

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
