/**
 * A log in its worker, as the view sees it. Questions that come faster than answers are put off: only the latest one matters while a limit is being dragged.
 */
import type { LogReaderOptions } from '@sluice/tuner';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LimitsData, LogSummary, PolicyData, Question, Report, WhatIfData } from './messages.ts';

export type LogState =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'reading';
      readonly name: string;
      readonly doneRatio: number;
      readonly lines: number;
      readonly about: string;
    }
  | { readonly kind: 'read'; readonly name: string; readonly summary: LogSummary }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string };

export interface UsedLog {
  readonly state: LogState;
  readonly result: WhatIfData | undefined;
  /** Whether the result is that of a policy: while another one is being counted, the last one stays. */
  isResultOf(policy: PolicyData): boolean;
  readonly limits: LimitsData | undefined;
  /** Why the last question was not answered. */
  readonly problem: string | undefined;
  read(files: readonly File[], options: LogReaderOptions): void;
  ask(policy: PolicyData): void;
  askLimits(windowMs: number, share: number): void;
  /** Stops reading, or puts the log away. */
  drop(): void;
}

export function useLog(): UsedLog {
  const [state, setState] = useState<LogState>({ kind: 'none' });
  const [answer, setAnswer] = useState<Extract<Report, { kind: 'what-if' }>>();
  const [limits, setLimits] = useState<LimitsData>();
  const [problem, setProblem] = useState<string>();
  const session = useRef<Session>(undefined);

  useEffect(() => () => session.current?.end(), []);

  function drop(): void {
    session.current?.end();
    session.current = undefined;
    setState({ kind: 'none' });
    setAnswer(undefined);
    setLimits(undefined);
    setProblem(undefined);
  }

  function read(files: readonly File[], options: LogReaderOptions): void {
    drop();
    const name = files.map((file) => file.name).join(', ');
    setState({ kind: 'reading', name, doneRatio: 0, lines: 0, about: 'Reading' });
    session.current = new Session((report) => {
      if (report.kind === 'what-if') {
        setAnswer(report);
        setProblem(undefined);
      } else if (report.kind === 'limits')
        setLimits((before) => (session.current?.wants(report) ? report.limits : before));
      else if (report.kind === 'unanswered') setProblem(report.message);
      else setState((before) => nextState(before, name, report));
    });
    session.current.send({ kind: 'read', files, options });
  }

  return {
    state,
    result: answer?.result,
    isResultOf: (policy) => JSON.stringify(answer?.policy) === JSON.stringify(policy),
    limits,
    problem,
    read,
    drop,
    ask: (policy) => session.current?.ask(policy),
    askLimits(windowMs, share) {
      setLimits(undefined);
      session.current?.askLimits(windowMs, share);
    },
  };
}

type OfLog = Exclude<Report, { kind: 'what-if' | 'limits' | 'unanswered' }>;

function nextState(before: LogState, name: string, report: OfLog): LogState {
  switch (report.kind) {
    case 'progress': {
      const { doneBytes, allBytes, lines } = report;
      return { kind: 'reading', name, doneRatio: allBytes === 0 ? 0 : doneBytes / allBytes, lines, about: 'Reading' };
    }
    case 'thinking':
      return {
        kind: 'reading',
        name,
        doneRatio: 1,
        lines: before.kind === 'reading' ? before.lines : 0,
        about: report.about,
      };
    case 'summary':
      return { kind: 'read', name, summary: report.summary };
    case 'failed':
      return { kind: 'failed', name, message: report.message };
  }
}

/** One log in one worker. */
class Session {
  readonly #worker = new Worker(new URL('./log-worker.ts', import.meta.url), { type: 'module', name: 'log' });
  #isBusy = false;
  #latest: PolicyData | undefined;
  #limits: Extract<Question, { kind: 'limits' }> | undefined;

  constructor(hear: (report: Report) => void) {
    this.#worker.onmessage = ({ data }: MessageEvent<Report>) => {
      if (data.kind !== 'progress' && data.kind !== 'thinking' && data.kind !== 'limits') this.#isBusy = false;
      hear(data);
      this.#askNext();
    };
    this.#worker.onerror = ({ message }) =>
      hear({ kind: 'failed', message: message || 'The worker could not be started.' });
  }

  send(question: Question): void {
    this.#worker.postMessage(question);
  }

  ask(policy: PolicyData): void {
    this.#latest = policy;
    this.#askNext();
  }

  askLimits(windowMs: number, share: number): void {
    this.#limits = { kind: 'limits', windowMs, share };
    this.send(this.#limits);
  }

  /** Whether an answer is to what was asked last. */
  wants({ windowMs, share }: { readonly windowMs: number; readonly share: number }): boolean {
    return this.#limits?.windowMs === windowMs && this.#limits.share === share;
  }

  end(): void {
    this.#worker.onmessage = null;
    this.#worker.terminate();
  }

  #askNext(): void {
    if (this.#isBusy || this.#latest === undefined) return;
    this.#isBusy = true;
    this.send({ kind: 'what-if', policy: this.#latest });
    this.#latest = undefined;
  }
}
