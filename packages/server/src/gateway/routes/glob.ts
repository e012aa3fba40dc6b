/**
 * `*` stands for any text, also for none and across slashes: the globs of rules (`match`). Compiled once; parts are looked for one after
 * the other, so that no value, however hostile, takes long.
 */
export type Glob = (value: string) => boolean;

export function glob(pattern: string): Glob {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return (value) => value === pattern;
  if (rest.length === 0 && last === '') return first === '' ? () => true : (value) => value.startsWith(first);
  return (value) => {
    if (!value.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = value.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return value.length - last.length >= at && value.endsWith(last);
  };
}

/** Matches what one of them matches. */
export function anyGlob(patterns: readonly string[]): Glob {
  const globs = patterns.map(glob);
  const [only] = globs;
  return globs.length === 1 && only !== undefined ? only : (value) => globs.some((matches) => matches(value));
}

/**
 * Whether everything that `inner` matches, `outer` does. A star of `inner` is a letter that only a star of `outer` can take, so a yes is
 * sure; where several patterns cover another only together, the answer is no.
 */
export function covers(outer: string, inner: string): boolean {
  return glob(outer)(inner);
}
