/** What is done with a log, wherever it is done: in the page's worker, and in tests. */

import {
  advise,
  byClient,
  distributionOf,
  filesReader,
  type LogReaderOptions,
  limitsFor,
  separationOf,
  type Trace,
  traceRecorder,
  whatIf,
} from '@sluice/tuner';
import { type Policy, parsePolicy } from 'sluice';
import { readFiles } from './log-bytes.ts';
import type { LimitsData, LogSummary, PolicyData, Report, WhatIfData } from './messages.ts';

// A browser's tab has less room than a server: some 100 MB at most.
const budget = { maxEntries: 4_000_000, maxClients: 500_000 };
const reportEveryBytes = 4 * 1024 * 1024;

export class LogDesk {
  #trace: Trace | undefined;
  readonly #say: (report: Report) => void;

  constructor(say: (report: Report) => void) {
    this.#say = say;
  }

  async read(files: readonly File[], options: LogReaderOptions): Promise<LogSummary> {
    const recorder = traceRecorder(budget);
    const names = files.map(({ name }) => name);
    const reader = filesReader(names, options, (line) => recorder.take(line));
    const allBytes = files.reduce((sum, { size }) => sum + size, 0);
    let told = 0;
    await readFiles(files, (chunk, doneBytes, file) => {
      reader.push(chunk, file);
      if (doneBytes - told < reportEveryBytes) return;
      told = doneBytes;
      this.#say({ kind: 'progress', doneBytes, allBytes, lines: reader.report().lines });
    });
    reader.end();
    const read = reader.report();
    if (read.read === 0) throw new Error('There is not one call in this file.');
    this.#say({ kind: 'thinking', about: 'Counting who called how often' });
    const trace = recorder.finish();
    this.#trace = trace;
    const index = byClient(trace);
    const distribution = distributionOf(trace, undefined, index);
    const separation = separationOf(trace, undefined, index);
    this.#say({ kind: 'thinking', about: 'Looking for a limit that fits' });
    const {
      policy,
      refuses: _refuses,
      ...advice
    } = advise(trace, distribution, separation, {
      key: options.key ?? 'ip',
      cost: read.files.find(({ fields }) => fields !== undefined)?.fields?.cost,
    });
    return { read, trace: recorder.report(), distribution, separation, advice: { ...advice, policy: dataOf(policy) } };
  }

  whatIf(data: PolicyData): WhatIfData {
    const { policy: _policy, ...result } = whatIf(this.#mustHaveTrace(), parsePolicy(data as never), {
      top: 50,
      slices: 120,
    });
    return result;
  }

  limits(windowMs: number, share: number): LimitsData {
    const { rows, ...rest } = limitsFor(this.#mustHaveTrace(), {
      windowsMs: [windowMs],
      refuse: { share, of: 'calls' },
    });
    return { ...rest, rows: rows.map(({ policy: _policy, ...row }) => row) };
  }

  #mustHaveTrace(): Trace {
    if (this.#trace === undefined) throw new Error('No log has been read yet.');
    return this.#trace;
  }
}

function dataOf(policy: Policy): PolicyData {
  return Object.fromEntries(
    Object.entries(policy).filter(([, value]) => typeof value === 'number' || typeof value === 'string'),
  );
}
