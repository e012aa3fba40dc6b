/** What the loops send through: the connections of one protocol, or anything else that can be asked. */
export interface Asker {
  /** Asks, if there is room; the answer comes back with the same number. The others wait with the loop, which only counts them. */
  ask(request: number): boolean;
  /** Sends what was asked. */
  flush(): void;
  /** Undefined, or why nothing can be asked any more. */
  failure(): string | undefined;
  close(): void;
}

export interface AskerEvents {
  /** `problem`: it was no decision. */
  answered(request: number, problem?: string): void;
}
