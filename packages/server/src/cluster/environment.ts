/**
 * Everything a node of the cluster leans on, as three small interfaces: its own clock, etcd, and the other nodes. The server gives the
 * real ones, the simulator its own; between them runs the same code.
 */
import type { PeerMessage, PeerReply } from './messages.ts';

/** A node's own time. Nothing is ever decided by another node's clock, nor by the wall clock. */
export interface NodeClock {
  /** Milliseconds of a clock that never steps. It may stand still while the machine sleeps. */
  nowMs(): number;
  /**
   * The same, but running on while the machine sleeps: where the two part, time has been lost. `nowMs` is a reading of this tick, for whoever has
   * one: reading the clock takes as long as a part of a check.
   */
  uptimeMs(nowMs?: number): number;
  /** Does something later, once. Returns how to call it off. */
  after(ms: number, action: () => void): () => void;
}

/** A key of etcd. Revisions are etcd's: they grow with every change of anything. */
export interface EtcdRecord {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** A key as it must be for a transaction to happen; revision 0: it must not be there. */
export interface Comparison {
  readonly key: string;
  readonly modRevision: number;
}

export type Change = { readonly put: string; readonly value: string } | { readonly delete: string };

/** One key, or with `isPrefix` all that begin so; with `sinceRevision`, only what changed at that revision or later. */
export interface Reading {
  readonly key: string;
  readonly isPrefix?: boolean;
  readonly sinceRevision?: number;
}

export interface Transaction {
  readonly compare: readonly Comparison[];
  /** Made when every comparison holds, else none of them. */
  readonly change: readonly Change[];
  /** Answered in either case, after the changes. */
  readonly read: readonly Reading[];
}

export interface TransactionOutcome {
  readonly succeeded: boolean;
  /** Of the store, after the transaction. */
  readonly revision: number;
  /** What each reading found. */
  readonly found: readonly (readonly EtcdRecord[])[];
}

export interface Etcd {
  /**
   * Linearizable, reads included. Rejects when no answer came within `timeoutMs`: then nobody knows whether it happened, or whether
   * it will.
   */
  transact(transaction: Transaction, timeoutMs: number): Promise<TransactionOutcome>;
}

/** The other nodes, by the address in their record. */
export interface Peers {
  /** Rejects when no answer came within `timeoutMs`: then nobody knows whether the message arrived, or whether it will. */
  ask(address: string, message: PeerMessage, timeoutMs: number): Promise<PeerReply>;
}

/** Where a node tells what happened; the server's log has this shape. */
export interface NodeLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface NodeEnvironment {
  readonly clock: NodeClock;
  readonly etcd: Etcd;
  readonly peers: Peers;
  readonly log: NodeLog;
  /** From 0 up to 1: what makes ids differ. */
  random(): number;
}

export function pause(clock: NodeClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
