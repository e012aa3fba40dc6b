/** The W3C's `traceparent` header (Trace Context, section 3.2): `00-<trace id>-<span id>-<flags>`. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for what is none: the trace then begins here. */
export function parseTraceParent(header: string | undefined): TraceParent | undefined {
  if (header === undefined || header.length > 512) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(header) ?? [];
  // Later versions may append fields; version 00 has none, and ff is forbidden.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
