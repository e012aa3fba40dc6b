/** What became of a log on its way into a trace. */
export interface TraceReport {
  /** All that were taken. Each is one call. */
  readonly lines: number;
  /** Calls in the trace: fewer than lines only where the log was thinned. */
  readonly calls: number;
  /** Distinct clients of the log; an estimate where it was thinned. */
  readonly clients: number;
  /** The standard error of `clients`, as a part of it; 0: counted. */
  readonly clientsErrorRatio: number;
  /** Clients in the trace. */
  readonly clientsKept: number;
  /** Of the clients that call little, one in so many was kept; 1: all were. */
  readonly thinnedTo: number;
  /** A client that made so many calls was kept in any case; Infinity: the log was not thinned. */
  readonly keptFromCalls: number;
  /** Clients of which only the later calls are in the trace: they began to call much when the log was already being thinned. */
  readonly clientsKeptLate: number;
  /** Entries in the trace. */
  readonly entries: number;
  /** When the earliest and the latest call were; 0 where there was none. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly spanMs: number;
  /** 1; 1000 where the log's clock has whole seconds; more where the log did not fit. */
  readonly tickMs: number;
  /** Whether the tick is coarser than the log's clock. */
  readonly isCoarse: boolean;
  /** Whether calls of one client and tick that differed in cost became calls of their mean cost, as the log did not fit. */
  readonly hasAveragedCosts: boolean;
  /** Lines that came after a later one. They are counted at their own time all the same. */
  readonly lateLines: number;
  readonly lateMsMax: number;
  /** How often time itself went back: files in the wrong order, or a clock that was set back. */
  readonly stepsBack: number;
  readonly stepBackMsMax: number;
}
