/**
 * What is wrong with a request, as problem details (RFC 9457): the status, and a detail that names the field, the value it got and the
 * way out. Routes throw one; the door answers with it.
 */
import { STATUS_CODES } from 'node:http';
import { SluiceError } from 'sluice';
import { forCallers } from '../service/for-callers.ts';
import { problemType, type Reply } from './reply.ts';

export interface ProblemOptions {
  /** Further headers, name and value in turn. */
  readonly headers?: readonly string[];
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
}

export class Problem extends Error {
  readonly status: number;
  readonly headers: readonly string[];
  readonly members: Readonly<Record<string, unknown>>;

  constructor(status: number, detail: string, { headers = [], members = {} }: ProblemOptions = {}) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.headers = headers;
    this.members = members;
  }
}

/** The members of the body. */
export function problemMembers({ status, message, members }: Problem): Record<string, unknown> {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail: message, ...members };
}

export function problemReply(problem: Problem): Reply {
  const body = JSON.stringify(problemMembers(problem));
  return { status: problem.status, type: problemType, body, headers: problem.headers };
}

// How long to leave a store alone that did not answer.
const storeRetry = ['Retry-After', '1'] as const;

/** What was thrown, as a problem; undefined for what nobody foresaw. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof SluiceError)) return undefined;
  switch (error.code) {
    case 'invalid-option':
    case 'unsupported-operation':
      return new Problem(400, forCallers(error.message));
    case 'store-full':
      // Nobody knows when there will be room.
      return new Problem(503, error.message);
    case 'store-unavailable':
    case 'circuit-open':
      return new Problem(503, error.message, { headers: storeRetry });
    default:
      return undefined;
  }
}

// An error text is read by people; a megabyte of it by nobody.
const longestShown = 80;

/** A value as it is shown in a detail. */
export function shown(value: unknown): string {
  // JSON has no number beyond the largest, and would show it as null.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > longestShown ? `${text.slice(0, longestShown - 3)}...` : text;
}
