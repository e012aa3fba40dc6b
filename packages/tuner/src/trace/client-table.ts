/**
 * Names as bytes → small numbers, without a string per line: an open-addressing table whose names lie one after another in one array of bytes.
 *
 *      slots      │ hash  client │   ·   ·  │ hash  client │   ·   · │      two words each; client 0 is an empty place
 *                              │
 *      records    │ name start, name bytes, latest entry, … │              a few words per client, in one line of the cache
 *                        │
 *      names      1 0 . 0 . 0 . 7 1 9 2 . 1 6 8 . 0 . 1 …
 *
 * The hash has no secret: two runs over one log must keep the same clients when they thin it.
 */

// Words of a client's record.
const NAME_START = 0;
const NAME_BYTES = 1;
/** The client's latest entry, plus 1; 0: it has none. */
export const LATEST_ENTRY = 2;
/** Its calls, those before it was kept included. */
export const KNOWN_CALLS = 3;
/** The tick of its latest entry, the lower half: to see that there is a new one, the entry itself need not be fetched. */
export const LATEST_TICK = 4;
export const RECORD_WORDS = 5;

/** Of a longer name only so much is kept; that two such are one is then said by their beginnings, lengths and hashes. */
export const nameBytesKept = 512;

const decoder = new TextDecoder();

export class ClientTable {
  count = 0;
  nameBytes = 0;
  records: Uint32Array;
  /** By client. */
  hashes: Int32Array;
  #slots: Int32Array;
  #names: Uint8Array;

  constructor(clients = 1024) {
    this.records = new Uint32Array(clients * RECORD_WORDS);
    this.hashes = new Int32Array(clients);
    this.#slots = new Int32Array(4 * 2 ** Math.ceil(Math.log2(clients)));
    this.#names = new Uint8Array(clients * 16);
  }

  /** The client of that name, or -1. */
  find(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const client = slots[slot + 1]! - 1;
      if (client < 0) return -1;
      if (slots[slot] === hash && this.#isNamed(client, bytes, start, end)) return client;
    }
  }

  #isNamed(client: number, bytes: Uint8Array, start: number, end: number): boolean {
    const record = client * RECORD_WORDS;
    const length = end - start;
    if (this.records[record + NAME_BYTES] !== length) return false;
    const names = this.#names;
    const from = this.records[record + NAME_START]!;
    const compared = Math.min(length, nameBytesKept);
    for (let i = 0; i < compared; i += 1) if (names[from + i] !== bytes[start + i]) return false;
    return true;
  }

  /** A new client. Its name must not be in the table. */
  add(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const client = this.count;
    const keptBytes = Math.min(end - start, nameBytesKept);
    this.#makeRoom(keptBytes);
    const record = client * RECORD_WORDS;
    this.records[record + NAME_START] = this.nameBytes;
    this.records[record + NAME_BYTES] = end - start;
    this.hashes[client] = hash;
    // A name is short: a loop is done before a copy has begun.
    for (let i = 0; i < keptBytes; i += 1) this.#names[this.nameBytes + i] = bytes[start + i]!;
    this.nameBytes += keptBytes;
    this.count += 1;
    this.#place(client, hash);
    return client;
  }

  nameOf(client: number): string {
    const record = client * RECORD_WORDS;
    const start = this.records[record + NAME_START]!;
    const text = decoder.decode(this.#names.subarray(start, start + this.nameBytesOf(client)));
    return this.records[record + NAME_BYTES]! > nameBytesKept ? `${text}…` : text;
  }

  /** Of its name, as it is kept. */
  nameBytesOf(client: number): number {
    return Math.min(this.records[client * RECORD_WORDS + NAME_BYTES]!, nameBytesKept);
  }

  knownCallsOf(client: number): number {
    return this.records[client * RECORD_WORDS + KNOWN_CALLS]!;
  }

  /** The calls of those who made so many or more. */
  knownCallsFrom(least: number): Uint32Array {
    let found = 0;
    for (let client = 0; client < this.count; client += 1) if (this.knownCallsOf(client) >= least) found += 1;
    const calls = new Uint32Array(found);
    for (let client = 0, place = 0; place < found; client += 1) {
      const known = this.knownCallsOf(client);
      if (known >= least) calls[place++] = known;
    }
    return calls;
  }

  /** Keeps the clients for which it is asked, under new numbers; says for each old number the new one, or -1. */
  keepOnly(isKept: (client: number) => boolean): Int32Array {
    const newClients = new Int32Array(this.count).fill(-1);
    const kept = new ClientTable(Math.max(1024, this.count));
    for (let client = 0; client < this.count; client += 1) {
      if (!isKept(client)) continue;
      const record = client * RECORD_WORDS;
      const start = this.records[record + NAME_START]!;
      const length = this.records[record + NAME_BYTES]!;
      const added = kept.add(this.hashes[client]!, this.#names, start, start + length);
      kept.records[added * RECORD_WORDS + KNOWN_CALLS] = this.records[record + KNOWN_CALLS]!;
      newClients[client] = added;
    }
    this.count = kept.count;
    this.nameBytes = kept.nameBytes;
    this.records = kept.records;
    this.hashes = kept.hashes;
    this.#slots = kept.#slots;
    this.#names = kept.#names;
    return newClients;
  }

  forgetLatestEntries(): void {
    for (let client = 0; client < this.count; client += 1) this.records[client * RECORD_WORDS + LATEST_ENTRY] = 0;
  }

  #makeRoom(nameBytes: number): void {
    if (this.nameBytes + nameBytes > this.#names.length) {
      this.#names = copied(new Uint8Array(2 * this.#names.length + nameBytes), this.#names);
    }
    if (this.count < this.hashes.length) return;
    this.records = copied(new Uint32Array(2 * this.records.length), this.records);
    this.hashes = copied(new Int32Array(2 * this.hashes.length), this.hashes);
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (let client = 0; client < this.count; client += 1) this.#place(client, this.hashes[client]!);
  }

  #place(client: number, hash: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = (hash << 1) & mask;
    while (slots[slot + 1] !== 0) slot = (slot + 2) & mask;
    slots[slot] = hash;
    slots[slot + 1] = client + 1;
  }
}

function copied<T extends Uint8Array | Uint32Array | Int32Array>(to: T, from: T): T {
  to.set(from);
  return to;
}

/** FNV-1a, with MurmurHash3's last steps so that every bit of a name moves every bit of the hash. */
export function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return mixed(hash);
}

/** MurmurHash3's finalizer. */
export function mixed(word: number): number {
  let hash = word;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
