/**
 * How a call ends in gRPC: a number and a text, sent as `grpc-status` and `grpc-message` after the last message (or instead of one).
 */
import { SluiceError } from 'sluice';

/** The codes of gRPC that this door answers. UNKNOWN (2) is missing on purpose: a caller could not tell what to do about it. */
export const statusCodes = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type StatusCode = (typeof statusCodes)[keyof typeof statusCodes];

/** A call that cannot be answered with a message. */
export class GrpcError extends Error {
  readonly status: StatusCode;

  constructor(status: StatusCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GrpcError';
    this.status = status;
  }
}

export const malformed = (what: string) => new GrpcError(statusCodes.invalidArgument, what);

/**
 * What the caller is told about an error. Envoy lets a request pass or not by its own `failure_mode_deny` when it gets any of these; it
 * is never told "no limit" because something failed here.
 */
export function grpcErrorOf(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  if (isSluiceError(error)) return new GrpcError(statusOf(error), error.message, { cause: error });
  // A mistake of ours: its text may hold what is none of the caller's business. The log has it.
  return new GrpcError(statusCodes.internal, 'the service made a mistake; its log says which', { cause: error });
}

// By name, not only by class: there may be two copies of the library in one process.
function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof SluiceError || (error instanceof Error && error.name === 'SluiceError');
}

function statusOf(error: SluiceError): StatusCode {
  const isCallersMistake = error.code === 'invalid-option' || error.code === 'unsupported-operation';
  return isCallersMistake ? statusCodes.invalidArgument : statusCodes.unavailable;
}

// A header block has a size; what a caller sent and finds quoted in an error must not fill it.
const messageBytesMax = 1024;

/** `grpc-message`: printable ASCII as it is, everything else (and the percent sign) as the percent-encoded bytes of its UTF-8. */
export function percentEncoded(message: string): string {
  if (message.length <= messageBytesMax && /^[ -$&-~]*$/.test(message)) return message;
  let text = '';
  for (const byte of Buffer.from(message).subarray(0, messageBytesMax)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    text += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}
