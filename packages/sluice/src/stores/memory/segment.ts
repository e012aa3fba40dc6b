/** A part of a table: an open-addressed array of rows. */
export interface Segment {
  /** How many first bits all of its keys have in common. */
  depth: number;
  /** Places where a key can belong. A few more follow for those that are pushed on from the last ones. */
  readonly capacity: number;
  used: number;
  /** Its index among the segments. */
  number: number;
  /** The same memory twice: as the hashes, and as the cells. */
  readonly hashes: Int32Array;
  readonly cells: Float64Array;
  readonly keys: string[] | undefined;
  readonly own: Float64Array[] | undefined;
  /** By place: the number of the row's seat among recent keys, or 0; undefined where no row has one. */
  seats: Uint16Array | undefined;
}
