/** The few assertions the suite needs, so that it runs under any test runner, or none. */

export function same(actual: unknown, expected: unknown, what: string): void {
  if (Object.is(actual, expected)) return;
  throw new Error(`${what}: expected ${String(expected)}, got ${String(actual)}`);
}

/** Compares the fields that `expected` has. */
export function sameFields(actual: object, expected: object, what: string): void {
  for (const [field, value] of Object.entries(expected)) {
    same((actual as Record<string, unknown>)[field], value, `${what}: ${field}`);
  }
}
