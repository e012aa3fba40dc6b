/**
 * What the page and the worker that holds the log say to each other. The log itself is never sent anywhere: the page hands the file to the worker, and gets
 * back numbers and names.
 */
import type {
  Advice,
  Distribution,
  FilesReport,
  Limits,
  LogReaderOptions,
  Separation,
  TraceReport,
  WhatIf,
} from '@sluice/tuner';

/** A policy as data: what makes it one of an algorithm does not travel. */
export type PolicyData = Readonly<Record<string, string | number>>;

export type Question =
  | { readonly kind: 'read'; readonly files: readonly File[]; readonly options: LogReaderOptions }
  | { readonly kind: 'what-if'; readonly policy: PolicyData }
  | { readonly kind: 'limits'; readonly windowMs: number; readonly share: number };

export interface LogSummary {
  readonly read: FilesReport;
  readonly trace: TraceReport;
  readonly distribution: Distribution;
  readonly separation: Separation;
  readonly advice: AdviceData;
}

/** The advice with its policy as data. */
export type AdviceData = Omit<Advice, 'policy' | 'refuses'> & { readonly policy: PolicyData };

export type WhatIfData = Omit<WhatIf, 'policy'>;
export type LimitsData = Omit<Limits, 'rows'> & { readonly rows: readonly Omit<Limits['rows'][number], 'policy'>[] };

export type Report =
  | { readonly kind: 'progress'; readonly doneBytes: number; readonly allBytes: number; readonly lines: number }
  | { readonly kind: 'thinking'; readonly about: string }
  | { readonly kind: 'summary'; readonly summary: LogSummary }
  | { readonly kind: 'what-if'; readonly policy: PolicyData; readonly result: WhatIfData }
  | { readonly kind: 'limits'; readonly windowMs: number; readonly share: number; readonly limits: LimitsData }
  /** The log could not be read. */
  | { readonly kind: 'failed'; readonly message: string }
  /** A question about it could not be answered. */
  | { readonly kind: 'unanswered'; readonly message: string };
