/**
 * Envoy's rate limit messages in protobuf's wire format. `protos/` has them in protobuf's own words; the numbers below are its fields'.
 *
 * Decoding follows proto3: unknown fields are passed over, the last of a repeated scalar wins, a message that comes twice is merged,
 * repeated fields add up. A field of another wire type than its own counts as unknown.
 */

import {
  type CurrentLimit,
  codes,
  type Descriptor,
  type DescriptorEntry,
  type DescriptorStatus,
  type HeaderValue,
  type RateLimitRequest,
  type RateLimitResponse,
  type Unit,
  units,
} from '../envoy/rate-limit-message.ts';
import { GrpcError, malformed, statusCodes } from './status.ts';
import { writeStruct } from './struct-codec.ts';
import { lengthDelimitedTag, varintTag, WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

/** `envoy.type.v3.RateLimitUnit` ends with YEAR: what Envoy may override a limit with has no week. */
const overrideUnits = units.filter((unit) => unit !== 'WEEK');

// Envoy's descriptors have a handful.
const entriesPerDescriptor = 16;

/**
 * Refuses more than `mostDescriptors`, and more entries than so many have, so that a body of empty ones cannot become millions of objects: a kilobyte
 * unpacks to a megabyte of them, which would take the time of thousands of calls.
 */
export function decodeRateLimitRequest(bytes: Buffer, mostDescriptors: number): RateLimitRequest {
  const reader = new WireReader(bytes);
  const descriptors: Descriptor[] = [];
  const mostEntries = mostDescriptors * entriesPerDescriptor;
  let entries = 0;
  let domain = '';
  let hitsAddend = 0;
  while (reader.next()) {
    switch (reader.tag) {
      case lengthDelimitedTag(1):
        domain = reader.string();
        break;
      case lengthDelimitedTag(2):
        if (descriptors.length === mostDescriptors) throw tooMany('descriptors', mostDescriptors);
        descriptors.push(readDescriptor(reader, mostEntries - entries, mostEntries));
        entries += descriptors.at(-1)!.entries.length;
        break;
      case varintTag(3):
        hitsAddend = reader.uint32();
        break;
      default:
        reader.skip();
    }
  }
  return { domain, descriptors, hitsAddend };
}

function tooMany(what: string, most: number): GrpcError {
  return new GrpcError(
    statusCodes.resourceExhausted,
    `${what} must be at most ${most}, got more. Send fewer, or raise limits.batchItems.`,
  );
}

/** With room for so many entries, of `mostEntries` in all. */
function readDescriptor(reader: WireReader, room: number, mostEntries: number): Descriptor {
  const entries: DescriptorEntry[] = [];
  let limit: Descriptor['limit'];
  let hitsAddend: number | undefined;
  let isNegativeHits = false;
  const outerEnd = reader.enter();
  while (reader.next()) {
    switch (reader.tag) {
      case lengthDelimitedTag(1):
        if (entries.length === room) throw tooMany('the entries of all descriptors', mostEntries);
        entries.push(readEntry(reader));
        break;
      case lengthDelimitedTag(2):
        limit = readOverride(reader, limit);
        break;
      case lengthDelimitedTag(3):
        hitsAddend = readUint64Value(reader, hitsAddend);
        break;
      case varintTag(4):
        isNegativeHits = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return { entries, limit, hitsAddend, isNegativeHits };
}

function readEntry(reader: WireReader): DescriptorEntry {
  let key = '';
  let value = '';
  const outerEnd = reader.enter();
  while (reader.next()) {
    if (reader.tag === lengthDelimitedTag(1)) key = reader.string();
    else if (reader.tag === lengthDelimitedTag(2)) value = reader.string();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { key, value };
}

function readOverride(reader: WireReader, before: Descriptor['limit']): Descriptor['limit'] {
  let requestsPerUnit = before?.requestsPerUnit ?? 0;
  let unit: Unit = before?.unit ?? 'UNKNOWN';
  const outerEnd = reader.enter();
  while (reader.next()) {
    if (reader.tag === varintTag(1)) requestsPerUnit = reader.uint32();
    else if (reader.tag === varintTag(2)) unit = overrideUnit(reader.uint32());
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { requestsPerUnit, unit };
}

function overrideUnit(number: number): Unit {
  const unit = overrideUnits[number];
  // Read as UNKNOWN it would be an error as well, but one that hides what was sent.
  if (unit === undefined)
    throw malformed(`limit.unit must be a number from 0 to ${overrideUnits.length - 1}, got ${number}`);
  return unit;
}

function readUint64Value(reader: WireReader, before = 0): number {
  let value = before;
  const outerEnd = reader.enter();
  while (reader.next()) {
    if (reader.tag === varintTag(1)) value = reader.uint64();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return value;
}

const uint32Max = 2 ** 32 - 1;
/** `google.protobuf.Duration` ends there: some ten thousand years. */
const durationSecondsMax = 315_576_000_000;

export function writeRateLimitResponse(writer: WireWriter, response: RateLimitResponse): void {
  writer.uint(varintTag(1), codeNumber(response.overallCode));
  for (const status of response.statuses) writeStatus(writer, status);
  for (const header of response.responseHeadersToAdd) writeHeader(writer, 3, header);
  for (const header of response.requestHeadersToAdd) writeHeader(writer, 4, header);
  if (response.dynamicMetadata !== undefined) writeStruct(writer, lengthDelimitedTag(6), response.dynamicMetadata);
}

function writeStatus(writer: WireWriter, status: DescriptorStatus): void {
  const start = writer.open(lengthDelimitedTag(2));
  writer.uint(varintTag(1), codeNumber(status.code));
  if (status.currentLimit !== undefined) writeLimit(writer, status.currentLimit);
  if (status.limitRemaining !== 0) writer.uint(varintTag(3), status.limitRemaining, uint32Max);
  if (status.durationUntilResetSeconds !== undefined) {
    const durationStart = writer.open(lengthDelimitedTag(4));
    writer.uint(varintTag(1), status.durationUntilResetSeconds, durationSecondsMax);
    writer.close(durationStart);
  }
  writer.close(start);
}

function writeLimit(writer: WireWriter, limit: CurrentLimit): void {
  const start = writer.open(lengthDelimitedTag(2));
  writer.uint(varintTag(1), limit.requestsPerUnit, uint32Max);
  writer.uint(varintTag(2), units.indexOf(limit.unit));
  if (limit.name !== '') writer.string(lengthDelimitedTag(3), limit.name);
  writer.close(start);
}

function writeHeader(writer: WireWriter, field: number, header: HeaderValue): void {
  const start = writer.open(lengthDelimitedTag(field));
  writer.string(lengthDelimitedTag(1), header.key);
  writer.string(lengthDelimitedTag(2), header.value);
  writer.close(start);
}

function codeNumber(code: RateLimitResponse['overallCode']): number {
  const number = codes.indexOf(code);
  // Envoy takes UNKNOWN for OK. An answer without a code is a mistake of ours, and must not let a request pass.
  if (number < 1) throw new Error(`the service answered with code ${String(code)}; it must be OK or OVER_LIMIT`);
  return number;
}
