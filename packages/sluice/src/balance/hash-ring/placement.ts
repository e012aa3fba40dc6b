/**
 * Where on the ring things lie: the points of a member, and a key. Places are whole numbers from 0 to 2^32 - 1.
 *
 * The points of a member are one endless sequence that its id alone decides; it has the first so many of them. More weight
 * adds points at the end of what it has, less takes them from there, and what is not touched keeps its keys.
 */
import { KeyHash } from '../../stores/memory/key-hash.ts';
import { codeUnitAt } from '../../vocabulary/code-unit.ts';
import { crc32, crc32End, crc32More, crc32Start } from './crc32.ts';
import { md5 } from './md5.ts';

export interface Placement {
  /** A lighter member would have less than a point, and so more than its weight says. */
  readonly leastWeight: number;
  /** How many points a member has: at least one. `total` is the weight of all `members` of them. */
  count(weight: number, total: number, members: number): number;
  /** Its first `count` points, in the order of the sequence. */
  points(id: string, count: number): Uint32Array;
  placeOf(key: string): number;
}

/** Of the sort that nobody else has to agree with. */
export function ownPlacement(points: number): Placement {
  // The same on every machine: processes that share a ring must agree. It is no secret, so prepared keys can meet at one member.
  const hash = new KeyHash('hash-ring', [0x736c7569, 0x63652172]);
  return {
    leastWeight: 1 / points,
    count: (weight) => Math.max(1, Math.round(points * weight)),
    points(id, count) {
      hash.ofText(id);
      const { low, high } = hash;
      const places = new Uint32Array(count);
      // Of both words, or two members among thousands would share all their points. No two of one member's are the same: each step can be undone.
      for (let i = 0; i < count; i += 1) places[i] = scattered(scattered(low + Math.imul(i, 0x9e3779b9)) ^ high);
      return places;
    },
    placeOf(key) {
      hash.ofText(key);
      return hash.low >>> 0;
    },
  };
}

/** The last step of MurmurHash3: each bit of what comes in turns about half of the bits that go out. */
function scattered(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

const encoder = new TextEncoder();

/** The encoder takes longer to be called than a checksum takes, and most keys do not need it. */
function utf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) {
    const unit = codeUnitAt(text, i);
    if (unit >= 0x80) return encoder.encode(text);
    bytes[i] = unit;
  }
  return bytes;
}

/**
 * libketama's, which libmemcached and its bindings took over: 40 digests of `<id>-<k>` for an average member, four points of
 * each. How many a member has depends on the weights of all, in single precision; both are as in the original.
 */
export const ketamaPlacement: Placement = {
  // Weights count beside those of the others only.
  leastWeight: 0,
  count(weight, total, members) {
    const share = Math.fround(Math.fround(weight) / Math.fround(total));
    return 4 * Math.max(1, Math.floor(Math.fround(share * 40 * members)));
  },
  points(id, count) {
    const places = new Uint32Array(count);
    for (let i = 0; i < count; i += 4) places.set(md5(utf8(`${id}-${i / 4}`)), i);
    return places;
  },
  placeOf: (key) => md5(utf8(key))[0]!,
};

const nginxPoints = 160;

/** nginx' `hash ... consistent`: so many points for a weight of 1, each the checksum of the address and the point before it. */
export const nginxPlacement: Placement = {
  leastWeight: 1 / nginxPoints,
  count: (weight) => Math.max(1, Math.round(nginxPoints * weight)),
  points(id, count) {
    const { host, port } = addressOf(id);
    const begun = crc32More(crc32Start, utf8(`${host}\0${port}`));
    const places = new Uint32Array(count);
    const before = new DataView(new ArrayBuffer(4));
    const bytes = new Uint8Array(before.buffer);
    for (let i = 0; i < count; i += 1) {
      const place = crc32End(crc32More(begun, bytes));
      places[i] = place;
      before.setUint32(0, place, true);
    }
    return places;
  },
  placeOf: (key) => crc32(utf8(key)),
};

/** As nginx reads a server's name: `host:port`, `host`, or `unix:path`. */
function addressOf(id: string): { readonly host: string; readonly port: string } {
  if (/^unix:/i.test(id)) return { host: id.slice(5), port: '' };
  const colon = id.lastIndexOf(':');
  return colon >= 0 && /^\d*$/.test(id.slice(colon + 1))
    ? { host: id.slice(0, colon), port: id.slice(colon + 1) }
    : { host: id, port: '' };
}
