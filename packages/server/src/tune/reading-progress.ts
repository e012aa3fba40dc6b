/**
 * How far the reading is:
 *
 *      reading ━━━━━━━━━━━━━━────────────  47 %  1,408,000 lines, 371,000/s
 *      reading  1,408,000 lines, 371,000/s                                      from a pipe, whose end nobody knows
 */
import { countWords } from '@sluice/tuner';
import { barText } from '../terminal/progress-bar.ts';
import { type ProgressStream, statusLine } from '../terminal/status-line.ts';

export interface ReadingProgress {
  read(bytes: number, bytesTotal: number | undefined, lines: number): void;
  clear(): void;
}

export function readingProgress(stream: ProgressStream, now?: () => number): ReadingProgress {
  const line = statusLine(stream, now);
  return {
    read(bytes, bytesTotal, lines) {
      line.update((columns, elapsedMs) => {
        const perSecond = Math.round(lines / elapsedMs) * 1000;
        const text = `${countWords(lines)} lines, ${countWords(perSecond)}/s`;
        const isEndKnown = bytesTotal !== undefined && bytesTotal > 0;
        const bar = isEndKnown ? barText('reading', bytes / bytesTotal, columns - text.length - 2) : 'reading';
        return `${bar}  ${text}`;
      });
    },
    clear: () => line.clear(),
  };
}
