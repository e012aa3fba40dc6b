/**
 * Envoy's rate limit messages (`envoy.service.ratelimit.v3`) as plain objects: what the gRPC door decodes and encodes, what `/json`
 * reads and writes, and what `should-rate-limit.ts` answers. Field names are the protocol's, in camel case.
 */

export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
  /** For descriptors without one of their own. 0 or absent means 1. */
  readonly hitsAddend: number;
}

export interface Descriptor {
  readonly entries: readonly DescriptorEntry[];
  /** Replaces the configured limit of this descriptor. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: Unit } | undefined;
  /** Replaces the request's; 0 asks without counting. */
  readonly hitsAddend?: number | undefined;
  /** The hits are given back. */
  readonly isNegativeHits: boolean;
}

export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/** `RateLimit.Unit`. WEEK is 7, out of order; an override has none. */
export const units = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'] as const;
export type Unit = (typeof units)[number];

/** `RateLimitResponse.Code`. UNKNOWN (0) is never answered. */
export const codes = ['UNKNOWN', 'OK', 'OVER_LIMIT'] as const;
export type Code = Exclude<(typeof codes)[number], 'UNKNOWN'>;

export interface RateLimitResponse {
  readonly overallCode: Code;
  /** One for each descriptor, in their order. */
  readonly statuses: readonly DescriptorStatus[];
  readonly responseHeadersToAdd: readonly HeaderValue[];
  readonly requestHeadersToAdd: readonly HeaderValue[];
  /** Merged from the configured `metadata` of the descriptors that matched; plain JSON. */
  readonly dynamicMetadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface DescriptorStatus {
  readonly code: Code;
  /** Absent where no limit applies. */
  readonly currentLimit?: CurrentLimit | undefined;
  readonly limitRemaining: number;
  /** Whole seconds. */
  readonly durationUntilResetSeconds?: number | undefined;
}

export interface CurrentLimit {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
  readonly name: string;
}

export interface HeaderValue {
  readonly key: string;
  readonly value: string;
}
