/** A configured value with `*` in it: any text, also none, in each place. */
export interface Wildcard {
  readonly pattern: string;
  matches(value: string): boolean;
}

/** Parts are looked for one after the other and never again, so that no value, however hostile, takes long. */
export function wildcard(pattern: string): Wildcard {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop() ?? '';
  return {
    pattern,
    matches(value) {
      if (!value.startsWith(first)) return false;
      let at = first.length;
      for (const part of rest) {
        const found = value.indexOf(part, at);
        if (found < 0) return false;
        at = found + part.length;
      }
      return value.length - last.length >= at && value.endsWith(last);
    },
  };
}
