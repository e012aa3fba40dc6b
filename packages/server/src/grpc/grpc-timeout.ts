/** `grpc-timeout`: at most eight digits and a unit, such as `20m` for the 20 ms that Envoy waits by default. */
import { malformed } from './status.ts';

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Infinity when there is none. */
export function parseGrpcTimeoutMs(header: string | undefined): number {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const parts = /^(\d{1,8})([HMSmun])$/.exec(header);
  if (parts === null) {
    throw malformed(`grpc-timeout must be 1 to 8 digits and one of H M S m u n, got ${JSON.stringify(header)}`);
  }
  return Number(parts[1]) * unitMs[parts[2]!]!;
}
