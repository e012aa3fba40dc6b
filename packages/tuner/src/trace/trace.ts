/**
 * Who called when, as compact as an analysis can do with: one entry per client, tick and cost, in the order of time.
 *
 *      entry        0    1    2    3    4
 *      atTicks      0    0    1    1    3        ticks since startMs; a tick is 1 ms, or the log's own clock, or coarser if there was too much
 *      clients      7    2    7    9    7        places in the list of clients
 *      calls        1    3    1    1   12        so many in this tick
 *      costs        1    3    1    1   12        what they cost together: all of an entry the same
 *
 * A client's calls of one tick that differ in cost are several entries, in the order in which they came: three calls of 1 and one of 97 are not four
 * of 25, of which a limit of 20 would let none through.
 *
 * A log that does not fit is thinned by clients, never by calls: of those that call little, one in `weight` is kept whole, so that what is said of
 * them holds for all; those that call much are all kept. Who begins to call much when the log is already being thinned is kept from then on, and
 * the calls that are there stand for those that are not.
 */
export interface Trace {
  readonly startMs: number;
  readonly tickMs: number;
  /** How many entries. The arrays may be longer. */
  readonly length: number;
  readonly atTicks: Float64Array;
  readonly clients: Uint32Array;
  readonly calls: Uint32Array;
  readonly costs: Float64Array;
  readonly clientList: ClientList;
}

export interface ClientList {
  readonly count: number;
  nameOf(client: number): string;
  /** Its calls in the trace. */
  callsOf(client: number): number;
  /** How many clients this one stands for: 1, or more where the log did not fit. */
  weightOf(client: number): number;
  /** How many calls each of its calls stands for: as many as its weight, and more where its first calls are not in the trace. */
  callWeightOf(client: number): number;
}
