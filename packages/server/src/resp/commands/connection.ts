/** What clients say when they connect and leave. Texts of errors are Redis' own, since clients match on them. */
import type { DoorMeter } from '../../service/door-meter.ts';
import type { Tokens } from '../../service/tokens.ts';
import type { Command } from '../command.ts';
import { CommandError, wrongArity } from '../error-reply.ts';
import type { Session } from '../session.ts';
import type { Turn } from '../turn.ts';
import { checkClientName } from './client.ts';
import { redisVersion } from './server.ts';

export interface ConnectionContext {
  readonly tokens: Tokens;
  readonly meter: DoorMeter;
}

export function connectionCommands({ tokens, meter }: ConnectionContext): readonly Command[] {
  /** There is one user; a client that names no user means it. */
  function authenticate(session: Session, user: string, token: string): void {
    // Redis' default user without a password takes any.
    if (user === 'default' && (!tokens.areNeeded || tokens.has(token))) {
      session.isAuthenticated = true;
      return;
    }
    meter.unauthorized += 1;
    throw new CommandError('invalid username-password pair or user is disabled.', 'WRONGPASS');
  }

  function auth(turn: Turn): void {
    if (turn.count > 3) throw new CommandError('syntax error');
    if (turn.count === 2 && !tokens.areNeeded) {
      throw new CommandError(
        'AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
      );
    }
    authenticate(turn.session, turn.count === 3 ? turn.text(1) : 'default', turn.text(turn.count - 1));
    turn.writer.simple('OK');
  }

  function hello(turn: Turn): void {
    const { session, writer } = turn;
    let version = session.isResp3 ? 3 : 2;
    let name: string | undefined;
    let shown: { readonly user: string; readonly token: string } | undefined;
    if (turn.count > 1) {
      version = turn.integer(1);
      if (Number.isNaN(version)) throw new CommandError('Protocol version is not an integer or out of range');
      if (version !== 2 && version !== 3) throw new CommandError('unsupported protocol version', 'NOPROTO');
    }
    for (let i = 2; i < turn.count; ) {
      if (turn.is(i, 'auth') && i + 2 < turn.count) {
        shown = { user: turn.text(i + 1), token: turn.text(i + 2) };
        i += 3;
      } else if (turn.is(i, 'setname') && i + 1 < turn.count) {
        name = checkClientName(turn.text(i + 1));
        i += 2;
      } else throw new CommandError(`Syntax error in HELLO option '${turn.text(i).slice(0, 64)}'`);
    }
    // Not before the whole command was read: what is answered by an error has changed nothing.
    if (shown !== undefined) authenticate(session, shown.user, shown.token);
    if (!session.isAuthenticated) {
      meter.unauthorized += 1;
      throw new CommandError(
        'HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
        'NOAUTH',
      );
    }
    if (name !== undefined) session.name = name;
    session.isResp3 = version === 3;
    writer.isResp3 = session.isResp3;
    writer.map(7);
    writer.bulk('server');
    // Clients look here for what they can expect of the server, and know no other name.
    writer.bulk('redis');
    writer.bulk('version');
    writer.bulk(redisVersion);
    writer.bulk('proto');
    writer.integer(version);
    writer.bulk('id');
    writer.integer(session.id);
    writer.bulk('mode');
    writer.bulk('cluster');
    writer.bulk('role');
    writer.bulk('master');
    writer.bulk('modules');
    writer.array(0);
  }

  return [
    {
      name: 'ping',
      arity: -1,
      summary: 'Says PONG, or what it was given.',
      group: 'connection',
      run(turn) {
        if (turn.count > 2) throw wrongArity('ping');
        if (turn.count === 2) echo(turn);
        else turn.writer.simple('PONG');
      },
    },
    { name: 'echo', arity: 2, summary: 'Says what it was given.', group: 'connection', run: echo },
    { name: 'auth', arity: -2, summary: 'Shows a token.', group: 'connection', isOpen: true, run: auth },
    {
      name: 'hello',
      arity: -1,
      summary: 'Chooses the version of the protocol; may show a token and give a name.',
      group: 'connection',
      isOpen: true,
      run: hello,
    },
    {
      name: 'quit',
      arity: -1,
      summary: 'Ends the connection.',
      group: 'connection',
      isOpen: true,
      run({ session, writer }) {
        session.isEnding = true;
        writer.simple('OK');
      },
    },
    {
      name: 'reset',
      arity: 1,
      summary: 'Makes the connection as it was when it was new.',
      group: 'connection',
      isOpen: true,
      run({ session, writer }) {
        session.isResp3 = false;
        writer.isResp3 = false;
        session.name = '';
        session.isAuthenticated = !tokens.areNeeded;
        writer.simple('RESET');
      },
    },
    {
      name: 'select',
      arity: 2,
      summary: 'Chooses a database; there is only 0.',
      group: 'connection',
      run(turn) {
        const index = turn.integer(1);
        if (Number.isNaN(index)) throw new CommandError('value is not an integer or out of range');
        if (index !== 0) throw new CommandError('DB index is out of range');
        turn.writer.simple('OK');
      },
    },
    // What clients of a cluster say to replicas, and on being told to ASK: here nobody reads, and nobody is told.
    { name: 'readonly', arity: 1, summary: 'Accepted, and changes nothing.', group: 'cluster', run: ok },
    { name: 'readwrite', arity: 1, summary: 'Accepted, and changes nothing.', group: 'cluster', run: ok },
    { name: 'asking', arity: 1, summary: 'Accepted, and changes nothing.', group: 'cluster', run: ok },
  ];
}

function echo({ buffer, reader, writer }: Turn): void {
  writer.bytes(buffer, reader.starts[1]!, reader.stops[1]!);
}

function ok({ writer }: Turn): void {
  writer.simple('OK');
}
