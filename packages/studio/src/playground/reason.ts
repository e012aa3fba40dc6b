/**
 * Why a call was let through, held back or refused: a sentence made of the numbers that decided.
 *
 * Numbers are short, but never so short that the sentence contradicts itself: 4.02 of 5 are not `4`, into which one more would have fitted.
 */
import type { AlgorithmName } from './algorithms.ts';
import type { DecidedCall } from './engine.ts';
import type { Settings } from './settings.ts';
import { durationText, momentText, rounded } from './time-text.ts';

export type Outcome = 'allowed' | 'delayed' | 'refused';

export function outcomeOf({ decision }: DecidedCall): Outcome {
  if (!decision.allowed) return 'refused';
  return decision.delayMs > 0 ? 'delayed' : 'allowed';
}

interface Facts {
  readonly call: DecidedCall;
  readonly settings: Settings;
  /** What was in use when it came, in as many digits as it takes to see that it fitted or did not. */
  readonly used: string;
  /** How long until the same call would pass. */
  readonly again: string;
  /** The time that one call takes at the full rate. */
  readonly interval: string;
  readonly window: string;
}

type Sentence = (facts: Facts) => string;

export function reasonOf(call: DecidedCall, settings: Settings): string {
  const facts: Facts = {
    call,
    settings,
    used: usedText(call, settings),
    again: durationText(call.decision.retryAfterMs),
    interval: durationText(settings.windowMs / settings.limit),
    window: durationText(settings.windowMs),
  };
  return sentences[outcomeOf(call)][call.lane](facts);
}

const refused: Readonly<Record<AlgorithmName, Sentence>> = {
  'token-bucket': ({ call, settings, again, interval }) =>
    `${leftText(call, settings)} of ${settings.burst} tokens were there, and it needs ${call.cost}. One comes every ${interval}; there are enough in ${again}.`,
  gcra: ({ settings, again, interval, used }) =>
    `It came ${again} too early: the pace is one every ${interval}, up to ${settings.burst} ahead of it, and ${used} were ahead already.`,
  'leaky-bucket': ({ call, settings, again, interval, used }) =>
    `${used} of ${settings.burst + 1} places in line are taken, and it needs ${call.cost}. One leaves every ${interval}; there is room in ${again}.`,
  'fixed-window': ({ call, settings, again, used }) =>
    `${used} of ${settings.limit} were used since the boundary at ${boundaryText(call, settings)}; the count starts again in ${again}.`,
  'sliding-log': ({ settings, again, window, used }) =>
    `${used} of ${settings.limit} were used in the last ${window}; the oldest leaves in ${again}.`,
  'sliding-slots': ({ settings, again, window, used }) =>
    `${used} of ${settings.limit} count in the slots of the last ${window}; the oldest slot with calls has wholly left in ${again}.`,
  'sliding-window': ({ settings, again, window, used }) =>
    `The estimate for the last ${window} is ${used}, and with this call it would be above ${settings.limit}; it has fallen far enough in ${again}.`,
  smooth: ({ call, settings: { maxDelayMs }, again }) => {
    const [away, most] = toldApart(maxDelayMs + call.decision.retryAfterMs, maxDelayMs);
    return `The next free moment is ${away} away, and a call may wait ${most} at most; it is near enough in ${again}.`;
  },
  concurrency: ({ call, settings, again, used }) =>
    `${used} of ${settings.inFlight} are in flight. The next of them ends in ${durationText(call.nextEndInMs ?? 0)}, which the limiter cannot know; what it knows is when a lease runs out, in ${again}.`,
};

const delayed: Readonly<Record<AlgorithmName, Sentence>> = {
  ...same(({ call }) => `It may go, but waits ${durationText(call.decision.delayMs)} first.`),
  'leaky-bucket': ({ call, interval, used }) =>
    `${used} are in line before it, and one leaves every ${interval}: it waits ${durationText(call.decision.delayMs)}.`,
  smooth: ({ call, interval }) =>
    `Those before it have borrowed up to then, at one every ${interval}: it waits ${durationText(call.decision.delayMs)}.`,
};

const allowed: Readonly<Record<AlgorithmName, Sentence>> = {
  'token-bucket': ({ call, settings }) =>
    `${leftText(call, settings)} of ${settings.burst} tokens were there, and it took ${call.cost}.`,
  gcra: ({ settings, used }) =>
    `${used} calls were ahead of the pace, and with this one no more than ${settings.burst} are.`,
  'leaky-bucket': () => 'Nobody is in line, so it goes at once.',
  'fixed-window': ({ call, settings, used }) =>
    `${used} of ${settings.limit} were used since the boundary at ${boundaryText(call, settings)}.`,
  'sliding-log': ({ settings, window, used }) => `${used} of ${settings.limit} were used in the last ${window}.`,
  'sliding-slots': ({ settings, window, used }) =>
    `${used} of ${settings.limit} count in the slots of the last ${window}.`,
  'sliding-window': ({ settings, window, used }) =>
    `The estimate for the last ${window} is ${used} of ${settings.limit}.`,
  smooth: () => 'Nobody before it has borrowed, so it goes at once, and the next one pays.',
  concurrency: ({ settings, used }) => `${used} of ${settings.inFlight} were in flight.`,
};

const sentences: Readonly<Record<Outcome, Readonly<Record<AlgorithmName, Sentence>>>> = { allowed, delayed, refused };

function same(sentence: Sentence): Readonly<Record<AlgorithmName, Sentence>> {
  return {
    'token-bucket': sentence,
    gcra: sentence,
    'leaky-bucket': sentence,
    'fixed-window': sentence,
    'sliding-log': sentence,
    'sliding-slots': sentence,
    'sliding-window': sentence,
    smooth: sentence,
    concurrency: sentence,
  };
}

function boundaryText({ atMs }: DecidedCall, { windowMs }: Settings): string {
  return momentText(Math.floor(atMs / windowMs) * windowMs);
}

/** What each algorithm has room for. */
function roomOf({ lane }: DecidedCall, { limit, burst, inFlight }: Settings): number {
  switch (lane) {
    case 'token-bucket':
    case 'gcra':
      return burst;
    case 'leaky-bucket':
      return burst + 1;
    case 'concurrency':
      return inFlight;
    default:
      return limit;
  }
}

function usedText(call: DecidedCall, settings: Settings): string {
  const room = roomOf(call, settings);
  const [isAllowed, isDelayed] = [call.decision.allowed, call.decision.delayMs > 0];
  return shortest(call.usedBefore, (used) => used + call.cost <= room === isAllowed && (used > 0 || !isDelayed));
}

/** Of the burst. */
function leftText(call: DecidedCall, { burst }: Settings): string {
  return shortest(burst - call.usedBefore, (left) => left >= call.cost === call.decision.allowed);
}

const mostDigits = 9;

/** The number in the fewest digits with which it is still true. */
function shortest(value: number, isTrue: (value: number) => boolean): string {
  let digits = 1;
  while (digits < mostDigits && !isTrue(Number(rounded(value, digits)))) digits += 1;
  return rounded(value, digits);
}

/** Two durations in as many digits as it takes to tell them apart. */
function toldApart(oneMs: number, otherMs: number): [one: string, other: string] {
  let moreDigits = 0;
  while (moreDigits < mostDigits && durationText(oneMs, moreDigits) === durationText(otherMs, moreDigits))
    moreDigits += 1;
  return [durationText(oneMs, moreDigits), durationText(otherMs, moreDigits)];
}
