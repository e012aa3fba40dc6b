/**
 * How long requests took, in buckets that are never wider than 1/128 of what they hold: a few kilobytes, however many were counted.
 *
 *      microseconds    0 1 2 ... 255 | 256 258 ... 510 | 512 516 ... 1020 | ...   35 minutes
 *      bucket          one each      | 128 of width 2  | 128 of width 4   |
 *
 * A percentile is the upper end of its bucket: what is told is at most 0.8 % too long, never too short.
 */
const exactUs = 256;
const bucketsPerOctave = 128;
const longestUs = 2 ** 31 - 1;

export class LatencyHistogram {
  count = 0;
  maxMs = 0;
  private sumMs = 0;
  private readonly buckets = new Float64Array(bucketOf(longestUs) + 1);

  /** Less than 0 counts as 0: two clocks were compared. */
  record(ms: number): void {
    const known = Math.max(0, ms);
    // Rounded up: a percentile must not be shorter than what it stands for.
    const us = Math.min(longestUs, Math.ceil(known * 1000));
    this.buckets[bucketOf(us)]! += 1;
    this.count += 1;
    this.sumMs += known;
    if (known > this.maxMs) this.maxMs = known;
  }

  get meanMs(): number {
    return this.count === 0 ? 0 : this.sumMs / this.count;
  }

  /** What this share of all, 0 to 1, did not exceed. 0 when nothing was counted. */
  percentileMs(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.count));
    let seen = 0;
    for (const [bucket, count] of this.buckets.entries()) {
      seen += count;
      if (seen >= rank) return Math.min(this.maxMs, upperEndUs(bucket) / 1000);
    }
    return this.maxMs;
  }
}

function bucketOf(us: number): number {
  if (us < exactUs) return us;
  const exponent = 31 - Math.clz32(us);
  const shift = exponent - Math.log2(bucketsPerOctave);
  return exactUs + (exponent - 8) * bucketsPerOctave + ((us >>> shift) - bucketsPerOctave);
}

function upperEndUs(bucket: number): number {
  if (bucket < exactUs) return bucket;
  const octave = Math.floor((bucket - exactUs) / bucketsPerOctave);
  const place = (bucket - exactUs) % bucketsPerOctave;
  return (bucketsPerOctave + place + 1) * 2 ** (octave + 1) - 1;
}
