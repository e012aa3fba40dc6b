/**
 * Lets what has come be read before time-outs are looked for. A process that stood still (stopped, suspended, starved) wakes up with its
 * timers first: everybody would be late by them, also who had answered long ago, and what was our own standstill would count against
 * the members.
 */
export function readFirst(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
