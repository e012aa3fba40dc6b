/**
 * A rule's name where HTTP wants one. A structured field's string (RFC 9651, 3.3.3) holds printable ASCII only, so everything else
 * is percent-encoded as UTF-8; quotes and backslashes get a backslash. Problem bodies use the same name, so that a client can tell
 * which of the policies in the header it has violated.
 */

const beyondPrintable = /[^\x20-\x7e]+/g;
const loneSurrogates = /\p{Surrogate}/gu;
const toEscape = /["\\]/g;

// A name is for people and for matching; a header is no place for a longer one.
const longestName = 128;

/** The name in printable ASCII. A limiter without a name is called `default`, as in the draft's examples. */
export function policyName(rule: string): string {
  if (rule === '') return 'default';
  return rule.slice(0, longestName).replace(beyondPrintable, (text) => {
    return encodeURIComponent(text.replace(loneSurrogates, '\ufffd'));
  });
}

/** The name as a string of a structured field, with its quotes. */
export function quotedPolicyName(rule: string): string {
  return `"${policyName(rule).replace(toEscape, '\\$&')}"`;
}
