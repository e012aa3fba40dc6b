/**
 * Keeps secrets out of the log, wherever they hide: by the name of a field, as the password of an address, and by value, for the
 * tokens that the service knows. Works on what is logged, not on the written line, so that no token can break a line.
 */
const hidden = '[hidden]';

const secretFields =
  /^(authorization|proxy-authorization|cookie|set-cookie|x-api-key|password|passwd|secret|tokens?|credentials?)$/i;
const addressWithPassword = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]*@/gi;
const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;

// What is nested deeper, or longer, than anything the service logs is cut: a log line has a bound.
const deepest = 6;
const mostEntries = 100;
const longestText = 8192;

export function withoutSecrets(value: unknown, known: readonly string[], depth = 0): unknown {
  if (typeof value === 'string') return textWithoutSecrets(value, known);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepest) return '[deeper]';
  if (value instanceof Error) return withoutSecrets(errorFields(value), known, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, mostEntries).map((item) => withoutSecrets(item, known, depth + 1));
  const entries = Object.entries(value).slice(0, mostEntries);
  return Object.fromEntries(
    entries.map(([field, item]) => [
      field,
      secretFields.test(field) && item !== undefined ? hidden : withoutSecrets(item, known, depth + 1),
    ]),
  );
}

export function textWithoutSecrets(text: string, known: readonly string[]): string {
  let clean = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  for (const secret of known) if (secret !== '') clean = clean.replaceAll(secret, hidden);
  return clean.replace(addressWithPassword, `$1${hidden}@`).replace(bearer, `$1 ${hidden}`);
}

/** An error's own fields (`code`, `address`) say most; what every error has is not among them. */
function errorFields(error: Error): object {
  const { name, message, stack, cause } = error;
  return Object.assign({ type: name, message }, error, { stack }, cause === undefined ? {} : { cause });
}
