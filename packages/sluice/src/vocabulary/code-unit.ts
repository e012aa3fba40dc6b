/**
 * One UTF-16 unit of a text, read the same way whatever else the process has loaded.
 *
 * As a method it is read fast only as long as nobody extends `String`. From the first class that does (ioredis 6 and node-redis 5 have one, for the
 * verbatim strings of RESP3) the engine keeps `String.prototype` as a dictionary, compiled code looks the method up for every unit, and hashing a
 * key of sixteen takes 155 ns instead of 30. Held as a function there is nothing to look up.
 *
 * It takes whatever it is given for a text: who calls it has looked.
 */
const { charCodeAt } = String.prototype;

export function codeUnitAt(text: string, index: number): number {
  return charCodeAt.call(text, index);
}
