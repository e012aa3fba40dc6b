/**
 * Several protections as one, in the order written: the first is the outermost.
 *
 *      wrap(retry(), breaker, timeout('2s'))
 *
 *      retry ──► breaker ──► timeout ──► the call          each attempt asks the breaker, and has two seconds
 */
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import type { Fallback } from '../fallback/fallback.ts';
import { mustBeCall, type ProtectedCall, type Protection, type ProtectionOr, type RunOptions } from '../protection.ts';

/** What a protection may answer instead of the call. */
export type InsteadOf<P> = P extends Protection
  ? never
  : // By name, because TypeScript does not look for it in the signature of run().
    P extends Fallback<infer Instead> | ProtectionOr<infer Instead>
    ? Instead
    : never;

/** One protection that is all of them; the first is the outermost. */
export function wrap<Protections extends readonly ProtectionOr<unknown>[]>(
  ...protections: Protections
): ProtectionOr<InsteadOf<Protections[number]>>;
export function wrap(...protections: readonly ProtectionOr<unknown>[]): ProtectionOr<unknown> {
  if (protections.length === 0)
    throw new SluiceError('invalid-option', 'wrap() needs at least one protection, such as wrap(retry()).');
  for (const [i, protection] of protections.entries()) mustRun(protection, i + 1);

  return {
    async run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<unknown> {
      mustBeCall(call);
      const through = (i: number, given: AbortSignal | undefined): unknown =>
        i === protections.length
          ? call(given)
          : protections[i]!.run((inner) => through(i + 1, inner), { signal: given });
      return through(0, signal);
    },
  };
}

function mustRun(protection: ProtectionOr<unknown>, position: number): void {
  if (typeof protection?.run === 'function') return;
  const wayOut = typeof protection === 'function' ? 'Call it: retry(), and not retry.' : '';
  throw invalid(`argument ${position} of wrap()`, 'a protection, which has run()', protection, wayOut);
}
