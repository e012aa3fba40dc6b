/**
 * How far a long run is:
 *
 *      simulating ━━━━━━━━━━━━━━──────────────  47 %
 */
import { type ProgressStream, statusLine } from './status-line.ts';

export type { ProgressStream } from './status-line.ts';

export interface ProgressBar {
  /** From 0 to 1. */
  update(ratio: number): void;
  clear(): void;
}

export interface ProgressBarOptions {
  readonly stream: ProgressStream;
  readonly label: string;
  /** Default: the monotonic time of this process. */
  readonly now?: () => number;
}

const widestBar = 40;

export function progressBar({ stream, label, now }: ProgressBarOptions): ProgressBar {
  const line = statusLine(stream, now);
  return {
    update: (ratio) => line.update((columns) => barText(label, ratio, columns)),
    clear: () => line.clear(),
  };
}

/** One column stays free: a full line would wrap, and could not be cleared. */
export function barText(label: string, ratio: number, columns: number): string {
  const percent = `${Math.floor(100 * Math.min(1, Math.max(0, ratio)))} %`.padStart(5);
  const room = Math.min(widestBar, columns - 1 - percent.length - 2 - label.length);
  if (room < 5) return percent.trim();
  const done = Math.round(room * Math.min(1, Math.max(0, ratio)));
  return `${label} ${'━'.repeat(done)}${'─'.repeat(room - done)} ${percent}`;
}
