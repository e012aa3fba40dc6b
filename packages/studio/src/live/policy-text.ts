/** A policy in a line: `gcra 100 per 1 min, burst 20`. */
import { longTimeText, shortTimeText } from './words.ts';

export function policyText({ algorithm, limit, window, ...others }: Readonly<Record<string, unknown>>): string {
  const per = typeof window === 'number' ? ` per ${window < 1000 ? shortTimeText(window) : longTimeText(window)}` : '';
  const rest = Object.entries(others)
    // What is as long as the limit is what it is unless somebody says otherwise.
    .filter(([name, value]) => !(name === 'burst' && value === limit))
    .map(([name, value]) => `, ${name} ${String(value)}`);
  return `${String(algorithm)} ${String(limit)}${per}${rest.join('')}`;
}
