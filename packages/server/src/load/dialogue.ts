/** One connection's side of a protocol: what a request looks like, and where an answer ends. */
import type { AskerEvents } from './asker.ts';
import type { Outgoing } from './outgoing.ts';

export interface Dialogue {
  /** How many more the protocol allows now. */
  room(): number;
  /** Appends a request about a key. */
  ask(request: number, key: number): void;
  /** Reads on, telling of each answer that is whole. So many bytes (default: all) are there until it returns. Throws when it cannot be read. */
  read(bytes: Buffer, length?: number): void;
  /** Requests that are not answered yet. The connection is lost. */
  unanswered(): readonly number[];
}

export type OpenDialogue = (out: Outgoing, events: AskerEvents) => Dialogue;
