/**
 * The answers of the last moments, by the bytes of their commands: a command that comes again, id and all, gets the very same answer
 * and is not carried out twice.
 *
 *      command ──► hash of its id ──► heads ──► latest entry ──► the one before ──► ...      those whose bytes are gone end the chain
 *                                                    │
 *      ring    ... command reply command reply command reply ...                             the oldest are overwritten
 *
 * Nearly all of them are never asked for again. So they are bytes in flat memory, for which the collector does nothing: as objects in a
 * map they cost more than the checks themselves.
 */
import { randomInt } from 'node:crypto';

export interface AnsweredCommandsOptions {
  /** A power of two. */
  readonly entries?: number;
  readonly bytes?: number;
  /** How long an answer may be given again. */
  readonly replayMs?: number;
}

export class AnsweredCommands {
  private readonly entries: number;
  private readonly replayMs: number;
  private readonly seed = randomInt(2 ** 31);
  private readonly ring: Buffer;
  // By hash, one more than the number of its latest entry; numbers go up for ever, places in the arrays come round.
  private readonly heads: Float64Array;
  private readonly before: Float64Array;
  private readonly hashes: Int32Array;
  private readonly starts: Float64Array;
  private readonly commandBytes: Int32Array;
  private readonly replyBytes: Int32Array;
  private readonly answeredMs: Float64Array;
  private count = 0;
  // Bytes written since the beginning; the place in the ring is what remains of it.
  private written = 0;

  constructor({ entries = 65_536, bytes = 16 * 1024 * 1024, replayMs = 1000 }: AnsweredCommandsOptions = {}) {
    this.entries = entries;
    this.replayMs = replayMs;
    this.ring = Buffer.allocUnsafeSlow(bytes);
    this.heads = new Float64Array(2 * entries);
    this.before = new Float64Array(entries);
    this.hashes = new Int32Array(entries);
    this.starts = new Float64Array(entries);
    this.commandBytes = new Int32Array(entries);
    this.replyBytes = new Int32Array(entries);
    this.answeredMs = new Float64Array(entries);
  }

  hash(bytes: Uint8Array, start: number, stop: number): number {
    let hash = this.seed;
    for (let at = start; at < stop; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    return hash ^ (hash >>> 15);
  }

  /** The reply to a command of these bytes; undefined when there was none of late. It is to be used at once. */
  find(hash: number, bytes: Buffer, start: number, stop: number, nowMs: number): Buffer | undefined {
    const oldest = this.count - this.entries;
    for (let number = this.headOf(hash); number > 0 && number > oldest; number = this.before[this.placeOf(number)]!) {
      const place = this.placeOf(number);
      if (nowMs - this.answeredMs[place]! > this.replayMs) return undefined;
      const at = this.starts[place]!;
      const length = this.commandBytes[place]!;
      if (this.hashes[place] !== hash || length !== stop - start || this.written - at > this.ring.length) continue;
      const from = at % this.ring.length;
      if (this.ring.compare(bytes, start, stop, from, from + length) !== 0) continue;
      return this.ring.subarray(from + length, from + length + this.replyBytes[place]!);
    }
    return undefined;
  }

  add(hash: number, bytes: Buffer, start: number, stop: number, reply: Buffer, nowMs: number): void {
    const { ring } = this;
    const length = stop - start;
    const needed = length + reply.length;
    // One that would take a large part of the memory from all others is not kept: sent again, it is counted again.
    if (needed > ring.length / 64) return;
    const room = ring.length - (this.written % ring.length);
    if (room < needed) this.written += room;
    const at = this.written % ring.length;
    bytes.copy(ring, at, start, stop);
    reply.copy(ring, at + length);
    this.count += 1;
    const place = this.placeOf(this.count);
    this.before[place] = this.headOf(hash);
    this.heads[hash & (this.heads.length - 1)] = this.count;
    this.hashes[place] = hash;
    this.starts[place] = this.written;
    this.commandBytes[place] = length;
    this.replyBytes[place] = reply.length;
    this.answeredMs[place] = nowMs;
    this.written += needed;
  }

  private headOf(hash: number): number {
    return this.heads[hash & (this.heads.length - 1)]!;
  }

  private placeOf(number: number): number {
    return number % this.entries;
  }
}
