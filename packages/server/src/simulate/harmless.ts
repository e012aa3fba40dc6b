/** The same data, with nothing in its texts that a terminal would act on: a scenario may come from anybody. */
import { visibleText } from '@sluice/tuner/visible-text';

export function harmless<T>(data: T): T {
  return shown(data) as T;
}

function shown(data: unknown): unknown {
  // White space is not told apart: whatever is shown is set in lines anew.
  if (typeof data === 'string') return visibleText(data.replace(/\s+/g, ' '));
  if (Array.isArray(data)) return data.map(shown);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [visibleText(name), shown(value)]));
}
