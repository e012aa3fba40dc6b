/**
 * Now and then, what a call takes when none has to wait is measured anew: the service may have become slower, or what was
 * measured was a queue from the start. As only a service with room to spare shows it, the limit is halved meanwhile.
 *
 *      limit   ─────────────┐                             ┌───────────
 *                           └─────────────────────────────┘
 *      samples  ·  ·  ·  ·  │ the queue  │ measured       │ ·  ·  ·  ·
 *                           │ drains     │                │
 *
 * Where whatever is seen at such a moment is taken for it instead, waiting and all, each measurement is a little longer than the
 * last, and the limit creeps up with it.
 *
 * Half may still be too much to see the service without load. Then calls turn out much faster than was thought, the limit
 * follows, and the next probe comes soon.
 */

export interface ProbeSettings {
  /** How many samples lie between two probes at most; 0: there are none. */
  readonly probeEvery: number;
  readonly random: () => number;
}

/** How many samples are to come before the next probe; 0 and below, one is under way. */
export type UntilProbe = number;

const draining: UntilProbe = 0;
const measuring: UntilProbe = -1;
// The calls that end after it began under half the limit: they were fast, and say nothing of the whole.
const settling: UntilProbe = -2;
const settlingBeforeAnother: UntilProbe = -3;

const soonSamples = 10;
const muchFaster = 0.8;

/** The first is soon: the limit may begin far above what the service can take. */
export function firstProbe(settings: ProbeSettings): UntilProbe {
  return draw(Math.min(soonSamples, settings.probeEvery), settings);
}

export function isProbing(until: UntilProbe): boolean {
  return until <= draining;
}

/** Whether this sample is the one to be measured. */
export function isMeasured(until: UntilProbe): boolean {
  return until === measuring;
}

/** After a sample like any other. */
export function afterSample(until: UntilProbe, settings: ProbeSettings): UntilProbe {
  if (until === settling) return draw(settings.probeEvery, settings);
  if (until === settlingBeforeAnother) return firstProbe(settings);
  return until - 1;
}

/** After the sample that was measured. */
export function afterMeasured(rttMs: number, thoughtMs: number): UntilProbe {
  return rttMs < thoughtMs * muchFaster ? settlingBeforeAnother : settling;
}

/** What is left of the limit: half while the queue drains and while it is measured. */
export function probedLimit(limit: number, until: UntilProbe, limitMin: number): number {
  return until === draining || until === measuring ? Math.max(limitMin, Math.floor(limit / 2)) : Math.floor(limit);
}

/** At random, so that many clients of one service do not all make room at once. */
function draw(samples: number, { probeEvery, random }: ProbeSettings): UntilProbe {
  return probeEvery === 0 ? Number.POSITIVE_INFINITY : Math.ceil(samples * (0.5 + random() / 2));
}
