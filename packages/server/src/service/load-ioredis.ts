/**
 * The client library of Redis, loaded by whoever needs it: it takes as much memory as half a million keys.
 *
 * It extends `String`, for the verbatim strings of RESP3. From then on the engine keeps `String.prototype` as a dictionary, and compiled code looks up
 * every method of every string by its name, for as long as the process lives: a node of a cluster spent a tenth of its time on that. A property that
 * is read from the prototype itself, often enough to be cached, makes it fast again.
 */

// Far beyond the number of reads after which the engine begins to cache them.
const reads = 10_000;

/** What is loaded is mended once. */
let isMended = false;

export async function loadIoredis() {
  const ioredis = await import('ioredis');
  if (!isMended) mendStringPrototype();
  isMended = true;
  return ioredis;
}

function mendStringPrototype(): void {
  for (let i = 0; i < reads; i += 1) void String.prototype.charCodeAt;
}
