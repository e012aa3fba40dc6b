/**
 * Errors are for wrong use and for a failing world; a refusal is a value, never an error.
 * Match on `code`, not on the text: the code survives rewording and duplicate copies of this package.
 */

/** Every code Sluice can throw, with what it means. `docs/reference/errors.md` lists the same codes; a test compares. */
export const errorCodes = {
  'invalid-option': 'A policy field, option, key, cost or time has a value that cannot work.',
  'unsupported-operation': 'The algorithm has no such operation.',
  'store-full': 'The store has no room for what must not be forgotten.',
  'store-unavailable': 'The store did not answer, or not in time. Whether it counted the call is not known.',
  'store-unsafe': 'The settings of the store make a promise impossible that it was asked for.',
  'circuit-open': 'The circuit breaker lets no call through for now: what it guards has failed too often.',
  throttled:
    'The call was not made: the service has been rejecting too many, or asked for a longer pause than may be waited.',
  'bulkhead-full': 'As many calls as may be are under way or waiting already.',
  'timed-out': 'The call did not end in the time it was given.',
  'queue-full': 'The scheduler gave the task up because too many wait, or it has as many tenants as it may.',
  'task-expired': 'The task had not begun by its deadline, and was not run.',
  'task-removed': 'The task was removed from its scheduler before its turn came.',
  'scheduler-closed': 'The scheduler takes no more tasks, and has turned away those who waited.',
  'invalid-snapshot': 'The data given to restore() is not a snapshot this version can read.',
} as const;

export type ErrorCode = keyof typeof errorCodes;

export class SluiceError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SluiceError';
    this.code = code;
  }
}

/** Builds the error for a wrong value: the field, what it must be, what it got, and the way out where there is one. */
export function invalid(field: string, mustBe: string, got: unknown, wayOut = ''): SluiceError {
  return new SluiceError('invalid-option', `${field} must be ${mustBe}, got ${show(got)}.${wayOut && ` ${wayOut}`}`);
}

function show(value: unknown): string {
  let text = String(typeof value === 'object' && value !== null ? 'an object' : value);
  try {
    // JSON shows quotes and fields; what it cannot show (NaN, undefined, a function, a bigint) has a text of its own.
    if (typeof value === 'object' || typeof value === 'string') text = JSON.stringify(value) ?? text;
  } catch {
    // A cyclic object, or one whose toJSON throws: that it is an object is all that can be said, and it is said.
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
