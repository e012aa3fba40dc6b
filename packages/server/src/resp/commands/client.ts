/** CLIENT: what a connection calls itself, and who is connected. */
import type { Command } from '../command.ts';
import { CommandError, syntaxError, wrongArity } from '../error-reply.ts';
import type { Session } from '../session.ts';
import type { Turn } from '../turn.ts';
import { oneOf } from './subcommand.ts';

export interface ClientContext {
  /** Everybody who is connected, the oldest first. */
  sessions(): Iterable<Session>;
  nowMs(): number;
}

// CLIENT LIST is one reply, made in one go while everybody else waits.
const mostListed = 1000;
const mostNameBytes = 256;

export function clientCommand(context: ClientContext): Command {
  const subcommands = {
    setname(turn: Turn) {
      mustCount(turn, 3, 'setname');
      turn.session.name = checkClientName(turn.text(2));
      turn.writer.simple('OK');
    },
    getname(turn: Turn) {
      mustCount(turn, 2, 'getname');
      if (turn.session.name === '') turn.writer.none();
      else turn.writer.bulk(turn.session.name);
    },
    id(turn: Turn) {
      mustCount(turn, 2, 'id');
      turn.writer.integer(turn.session.id);
    },
    setinfo(turn: Turn) {
      mustCount(turn, 4, 'setinfo');
      const value = turn.text(3);
      const isName = turn.is(2, 'lib-name');
      if (!isName && !turn.is(2, 'lib-ver')) {
        throw new CommandError(`Unrecognized option '${turn.text(2).slice(0, 64)}'`);
      }
      if (!isPlain(value)) {
        throw new CommandError(
          `${isName ? 'lib-name' : 'lib-ver'} cannot contain spaces, newlines or special characters.`,
        );
      }
      if (isName) turn.session.libraryName = value;
      else turn.session.libraryVersion = value;
      turn.writer.simple('OK');
    },
    info(turn: Turn) {
      mustCount(turn, 2, 'info');
      turn.writer.verbatim(`${lineOf(turn.session, context.nowMs())}\n`);
    },
    list(turn: Turn) {
      let text = '';
      let count = 0;
      for (const session of context.sessions()) {
        if (count === mostListed) break;
        count += 1;
        text += `${lineOf(session, context.nowMs())}\n`;
      }
      turn.writer.verbatim(text);
    },
    'no-evict': onOrOff('no-evict'),
    'no-touch': onOrOff('no-touch'),
    reply(turn: Turn) {
      mustCount(turn, 3, 'reply');
      // Without replies a client would never learn that it was refused.
      if (!turn.is(2, 'on')) throw new CommandError('CLIENT REPLY knows only ON here');
      turn.writer.simple('OK');
    },
    tracking(turn: Turn) {
      if (turn.count < 3) throw wrongArity('client|tracking');
      if (!turn.is(2, 'off')) throw new CommandError('CLIENT TRACKING knows only OFF here: there is nothing to cache');
      turn.writer.simple('OK');
    },
  };
  return {
    name: 'client',
    arity: -2,
    summary: 'Says and sets what is known of connections.',
    group: 'connection',
    run: oneOf('client', subcommands),
  };
}

function onOrOff(name: string): (turn: Turn) => void {
  return (turn) => {
    mustCount(turn, 3, name);
    if (!turn.is(2, 'on') && !turn.is(2, 'off')) throw syntaxError();
    turn.writer.simple('OK');
  };
}

function mustCount(turn: Turn, count: number, subcommand: string): void {
  if (turn.count !== count) throw wrongArity(`client|${subcommand}`);
}

export function checkClientName(name: string): string {
  if (isPlain(name)) return name;
  throw new CommandError('Client names cannot contain spaces, newlines or special characters.');
}

/** Visible ASCII, as Redis has it: the listing is one client a line and one field a word. */
function isPlain(text: string): boolean {
  return text.length <= mostNameBytes && /^[!-~]*$/.test(text);
}

function lineOf(session: Session, nowMs: number): string {
  return [
    `id=${session.id}`,
    `addr=${hostAndPort(session.remote)}`,
    `laddr=${hostAndPort(session.local)}`,
    `name=${session.name}`,
    `age=${Math.floor((nowMs - session.connectedMs) / 1000)}`,
    'flags=N',
    'db=0',
    `cmd=${session.lastCommand}`,
    'user=default',
    `resp=${session.isResp3 ? 3 : 2}`,
    `lib-name=${session.libraryName}`,
    `lib-ver=${session.libraryVersion}`,
  ].join(' ');
}

function hostAndPort({ address, port }: Session['remote']): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
