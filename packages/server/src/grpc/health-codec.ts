/** The messages of `grpc.health.v1`. */
import { lengthDelimitedTag, varintTag, WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

/** `HealthCheckResponse.ServingStatus`. */
export const servingStatuses = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof servingStatuses)[keyof typeof servingStatuses];

/** The name of the service that is asked about. */
export function decodeHealthCheckRequest(bytes: Buffer): string {
  const reader = new WireReader(bytes);
  let service = '';
  while (reader.next()) {
    if (reader.tag === lengthDelimitedTag(1)) service = reader.string();
    else reader.skip();
  }
  return service;
}

export function writeHealthCheckResponse(writer: WireWriter, status: ServingStatus): void {
  writer.uint(varintTag(1), status);
}
