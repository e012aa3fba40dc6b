/** What somebody who wrote a name that does not exist may have meant. */

/** The name that takes the fewest slips to get to, if they are few for its length. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  // A name much longer than any of ours is not a slip, and not worth the time.
  if (written.length > 64) return undefined;
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const slips = slipsBetween(written.toLowerCase(), name.toLowerCase());
    if (slips < fewest && slips <= Math.max(1, Math.floor(Math.min(name.length, written.length) / 3))) {
      nearest = name;
      fewest = slips;
    }
  }
  return nearest;
}

/** Letters to add, drop, replace or swap with their neighbour (the distance of Damerau and Levenshtein). */
function slipsBetween(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let slips = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        slips = Math.min(slips, beforePrevious[j - 2]! + 1);
      }
      row.push(slips);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length]!;
}

/** `and there is no such upstream. Did you mean api?` */
export function noSuch(kind: string, written: string, names: readonly string[]): string {
  const meant = nearestName(written, names);
  const wayOut =
    meant !== undefined
      ? `Did you mean ${meant}?`
      : names.length === 0
        ? 'There are none.'
        : `There are ${names.join(', ')}.`;
  return `and there is no such ${kind}. ${wayOut}`;
}
