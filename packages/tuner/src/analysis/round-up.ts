const digits = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The next number that people would write: 1 to 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, ... */
export function roundUp(limit: number): number {
  if (limit <= 10) return Math.max(1, Math.ceil(limit));
  const scale = 10 ** Math.floor(Math.log10(limit));
  return digits.map((digit) => Math.round(digit * scale)).find((round) => round >= limit) ?? 10 * scale;
}
