/** Errors that say something about the call or the settings, and nothing about whether the store works. */
import type { ErrorCode } from '../vocabulary/errors.ts';

const failures: readonly unknown[] = ['store-unavailable', 'store-unsafe', 'circuit-open'] satisfies ErrorCode[];

/** By name and code, so that errors of another copy of this package count too. */
export function isWrongUse(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return name === 'SluiceError' && !failures.includes(code);
}
