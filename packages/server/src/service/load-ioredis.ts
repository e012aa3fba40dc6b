/**
 * The client library of Redis, loaded by whoever needs it: it takes as much memory as half a million keys.
 *
 * It extends `String`, for the verbatim strings of RESP3. From then on the engine keeps `String.prototype` as a dictionary, and compiled code looks up
 * every method of every string by its name, for as long as the process lives: a node of a cluster spent a tenth of its time on that. What is written
 * to an object makes the prototypes that it has fast again.
 */
export async function loadIoredis() {
  const ioredis = await import('ioredis');
  Object.create(String.prototype).hasFastPrototype = true;
  return ioredis;
}
