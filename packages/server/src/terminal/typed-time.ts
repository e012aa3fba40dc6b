/** A time on the command line. What is typed is text: milliseconds need their unit too, which the library's own words do not say. */
import { type Duration, parseDuration, SluiceError } from 'sluice';

/** Milliseconds; `name` is what the sentence begins with that says what is wrong. */
export function typedTime(text: string, name: string): number {
  try {
    return parseDuration(text as Duration, name);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    const message = `${name} must be a time above 0 with its unit, such as 250ms, 10s, 1m, 1h, 1d or 1w, got ${JSON.stringify(text)}.`;
    throw new SluiceError('invalid-option', message);
  }
}
