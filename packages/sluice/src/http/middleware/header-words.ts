/** What there is to know of a header's name, found out once: some frameworks go by names in lower case, and find out each time. */

interface HeaderWords {
  readonly lower: string;
  /** Those of one set belong together: half of one and half of another would be wrong. */
  readonly set: string;
}

// Of our own names, which are few.
const known = new Map<string, HeaderWords>();

export function headerWords(name: string): HeaderWords {
  let words = known.get(name);
  if (words === undefined) {
    const lower = name.toLowerCase();
    words = { lower, set: /^(x-)?ratelimit/.exec(lower)?.[0] ?? lower };
    known.set(name, words);
  }
  return words;
}
