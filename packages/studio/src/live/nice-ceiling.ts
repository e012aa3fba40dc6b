/** The end of an axis: the next number of one digit (or 10, 20, ...) whose middle is short to write too. */
export function niceCeiling(value: number): number {
  if (!(value > 1)) return 1;
  const decade = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 3, 4, 5, 6, 8, 10].find((one) => one * decade >= value * (1 - 1e-9)) ?? 10;
  return step * decade;
}
