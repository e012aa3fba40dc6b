/**
 * The limits that are tried, and in which order: as few as will do, since each try takes a walk through the trace.
 *
 *      steps    1  2 ... 199 200 201 ...          from 200 on they are about a percent apart:
 *      limits   1  2 ... 199 200 202 ... 498 500 505 ... 995 1000 1010 ...
 *                                                 nobody needs to know whether it is 20,450 or 20,460
 */
const mantissas = [
  ...Array.from({ length: 100 }, (_, i) => 100 + i),
  ...Array.from({ length: 150 }, (_, i) => 200 + 2 * i),
  ...Array.from({ length: 100 }, (_, i) => 500 + 5 * i),
];

function limitAt(step: number): number {
  if (step < 100) return step;
  const decade = Math.floor((step - 100) / mantissas.length);
  return mantissas[(step - 100) % mantissas.length]! * 10 ** decade;
}

/** The first step whose limit is no less. */
function stepOf(limit: number): number {
  if (limit <= 100) return Math.ceil(limit);
  const decade = Math.floor(Math.log10(limit)) - 2;
  const mantissa = mantissas.findIndex((each) => each * 10 ** decade >= limit);
  return 100 + decade * mantissas.length + (mantissa < 0 ? mantissas.length : mantissa);
}

/** As far as limits go. */
export const largestLimit = 1e15;
const lastStep = stepOf(largestLimit);

/** The smallest of the limits that fits, where larger ones do; undefined where none does. */
export function smallestLimit(fits: (limit: number) => boolean, guess: number): number | undefined {
  const step = smallestStep((each) => fits(limitAt(each)), Math.max(1, stepOf(guess)));
  return step === undefined ? undefined : limitAt(step);
}

/**
 * The lowest step that fits, where higher ones do. Where the next higher one refuses too much all the same, a step was a stroke of luck: then the
 * search goes on above the two, and never below them again.
 */
function smallestStep(fits: (step: number) => boolean, guess: number): number | undefined {
  let tooLow = 0;
  let found = lowestAbove(fits, tooLow, Math.min(guess, lastStep));
  while (found !== undefined && found < lastStep && !fits(found + 1)) {
    tooLow = found + 1;
    found = lowestAbove(fits, tooLow, Math.min(found + 2, lastStep));
  }
  return found;
}

/** Goes away from a guess in growing strides, then halves what is between. */
function lowestAbove(fits: (step: number) => boolean, floor: number, guess: number): number | undefined {
  let tooLow = floor;
  let high = guess;
  let stride = Math.max(1, Math.round(guess / 100));
  if (fits(guess)) {
    while (high - stride > floor && fits(high - stride)) {
      high -= stride;
      stride *= 2;
    }
    tooLow = Math.max(floor, high - stride);
  } else {
    do {
      if (high === lastStep) return undefined;
      tooLow = high;
      high = Math.min(lastStep, high + stride);
      stride *= 2;
    } while (!fits(high));
  }
  return halve(fits, tooLow, high);
}

function halve(fits: (step: number) => boolean, tooLow: number, high: number): number {
  if (high - tooLow <= 1) return high;
  const middle = Math.floor((tooLow + high) / 2);
  return fits(middle) ? halve(fits, tooLow, middle) : halve(fits, middle, high);
}
