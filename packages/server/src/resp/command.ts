/** A command of this door: what clients may know about it (COMMAND tells), and what it does. */
import type { Turn } from './turn.ts';

export interface Command {
  /** In lower case. */
  readonly name: string;
  /** Arguments with the name: exactly so many, or at least so many when negative. */
  readonly arity: number;
  /** What the command is, in one sentence. */
  readonly summary: string;
  readonly group: 'connection' | 'server' | 'cluster' | 'module';
  /** Which argument is the key, by which clients of a cluster find the node. Absent: none. */
  readonly keyAt?: number;
  /** May be sent before AUTH. */
  readonly isOpen?: true;
  run(turn: Turn): void;
}

/** Finds a command by the bytes of its name, in any case, without making a string of them. */
export class CommandTable {
  readonly all: readonly Command[];
  // By the length of the name: a few each, and CL.THROTTLE alone.
  private readonly byLength: Named[][] = [];

  constructor(commands: readonly Command[]) {
    this.all = commands;
    for (const command of commands) {
      const { name } = command;
      const named = { command, lower: Buffer.from(name), upper: Buffer.from(name.toUpperCase()) };
      this.byLength[name.length] = [...(this.byLength[name.length] ?? []), named];
    }
  }

  find(buffer: Buffer, start: number, stop: number): Command | undefined {
    const candidates = this.byLength[stop - start];
    if (candidates === undefined) return undefined;
    for (let i = 0; i < candidates.length; i += 1) {
      const candidate = candidates[i]!;
      if (isNamed(candidate, buffer, start)) return candidate.command;
    }
    return undefined;
  }
}

interface Named {
  readonly command: Command;
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
}

function isNamed({ lower, upper }: Named, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < upper.length; i += 1) {
    const byte = buffer[start + i];
    if (byte !== upper[i] && byte !== lower[i]) return false;
  }
  return true;
}

export function hasArity({ arity }: Command, count: number): boolean {
  return arity < 0 ? count >= -arity : count === arity;
}
