/** Times in words: for people (`1.2 s`) and for policies (`10s`). */

/** Three digits at most: what is read beside a moving picture must be short. More where a sentence would not be true without them. */
export function durationText(ms: number, moreDigits = 0): string {
  if (ms === Number.POSITIVE_INFINITY) return 'never';
  if (ms < 1000) return `${rounded(ms, (ms < 10 ? 1 : 0) + moreDigits)} ms`;
  if (ms < 60_000) return `${rounded(ms / 1000, (ms < 10_000 ? 2 : 1) + moreDigits)} s`;
  return `${rounded(ms / 60_000, 1 + moreDigits)} min`;
}

/** A moment of a run: `12.34 s`, `2:05.30`. */
export function momentText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(2)} s`;
  // Down to hundredths, so that 59.999 does not become a minute of 60 seconds.
  const hundredths = Math.floor(ms / 10);
  const minutes = Math.floor(hundredths / 6000);
  const rest = ((hundredths % 6000) / 100).toFixed(2).padStart(5, '0');
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** A round moment on the axis: `33.5 s`, `15:33`, `15:33.5`. */
export function axisText(ms: number): string {
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const minutes = Math.floor(tenths / 600);
  const [seconds, tenth] = [Math.floor((tenths % 600) / 10), tenths % 10];
  return `${minutes}:${String(seconds).padStart(2, '0')}${tenth === 0 ? '' : `.${tenth}`}`;
}

/** As policies and addresses have it: `250ms`, `10s`, `1m`. */
export function policyDuration(ms: number): string {
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000}m`;
  // Halves at most: 32.2 times a thousand is not 32200.
  if (ms >= 1000 && ms % 500 === 0) return `${ms / 1000}s`;
  return `${ms}ms`;
}

export function rounded(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
