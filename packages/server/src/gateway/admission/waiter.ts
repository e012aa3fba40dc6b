/** Somebody who waits for a place, and what a level of priority knows about its tenant. */
import type { Admitted, Refused } from './admission-types.ts';
import type { InLine, Line } from './line.ts';

export interface Waiter {
  readonly tenant: string;
  readonly priority: number;
  readonly sinceMs: number;
  readonly answer: (answer: Admitted | Refused) => void;
  forgetSignal: () => void;
  /** Where it stands, while it waits: among those of its tenant, and among all in the order in which they came. */
  account: Account | undefined;
  inAccount: InLine<Waiter> | undefined;
  inArrivals: InLine<Waiter> | undefined;
}

/** A tenant that has somebody waiting, or something under way that it had waited for. */
export interface Account {
  readonly name: string;
  weight: number;
  readonly line: Line<Waiter>;
  /** Under way, of those that waited. */
  running: number;
  /** When it had its last turn, or began to wait if that was later. */
  sinceMs: number;
  inPassedOver: InLine<Account> | undefined;
  /** Where it stands in `loads.ts`. */
  load: { readonly weight: number; readonly count: number; readonly place: InLine<Account> } | undefined;
}
