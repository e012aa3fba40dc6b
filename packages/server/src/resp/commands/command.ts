/** COMMAND: what the door can do, so that clients can complete names, show help and find the key among the arguments. */
import { type Command, type CommandTable, hasArity } from '../command.ts';
import { CommandError, wrongArity } from '../error-reply.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Turn } from '../turn.ts';
import { oneOf } from './subcommand.ts';

export function commandCommand(table: () => CommandTable): Command {
  const subcommands = oneOf('command', {
    count({ writer }) {
      writer.integer(table().all.length);
    },
    list({ writer }) {
      const { all } = table();
      writer.array(all.length);
      for (const { name } of all) writer.bulk(name);
    },
    info(turn) {
      if (turn.count === 2) return writeAll(turn.writer, table().all);
      turn.writer.array(turn.count - 2);
      for (let i = 2; i < turn.count; i += 1) {
        const command = at(turn, i);
        if (command) writeInfo(turn.writer, command);
        else turn.writer.none();
      }
    },
    docs(turn) {
      const named = Array.from({ length: turn.count - 2 }, (_, i) => at(turn, i + 2));
      const commands = turn.count === 2 ? table().all : named.filter((command) => command !== undefined);
      turn.writer.map(commands.length);
      for (const command of commands) writeDocs(turn.writer, command);
    },
    getkeys(turn) {
      if (turn.count < 3) throw wrongArity('command|getkeys');
      const command = at(turn, 2);
      if (!command) throw new CommandError('Invalid command specified');
      if (command.keyAt === undefined) throw new CommandError('The command has no key arguments');
      const keyAt = 2 + command.keyAt;
      if (!hasArity(command, turn.count - 2) || keyAt >= turn.count) {
        throw new CommandError('Invalid number of arguments specified for command');
      }
      turn.writer.array(1);
      turn.writer.bytes(turn.buffer, turn.reader.starts[keyAt]!, turn.reader.stops[keyAt]!);
    },
  });

  function at({ buffer, reader }: Turn, i: number): Command | undefined {
    return table().find(buffer, reader.starts[i]!, reader.stops[i]!);
  }

  return {
    name: 'command',
    arity: -1,
    summary: 'Says which commands there are.',
    group: 'server',
    run(turn) {
      if (turn.count === 1) writeAll(turn.writer, table().all);
      else subcommands(turn);
    },
  };
}

function writeAll(writer: ReplyWriter, commands: readonly Command[]): void {
  writer.array(commands.length);
  for (const command of commands) writeInfo(writer, command);
}

/** Name, arity, flags, first key, last key, step, categories, tips, where keys are, subcommands. */
function writeInfo(writer: ReplyWriter, { name, arity, keyAt = 0, isOpen, group }: Command): void {
  const flags = [
    keyAt > 0 ? 'write' : 'loading',
    ...(keyAt > 0 ? [] : ['stale']),
    'fast',
    ...(isOpen ? ['no_auth'] : []),
  ];
  writer.array(10);
  writer.bulk(name);
  writer.integer(arity);
  writer.set(flags.length);
  for (const flag of flags) writer.simple(flag);
  writer.integer(keyAt);
  writer.integer(keyAt);
  writer.integer(keyAt > 0 ? 1 : 0);
  writer.set(1);
  writer.simple(group === 'connection' ? '@connection' : keyAt > 0 ? '@write' : '@fast');
  writer.array(0);
  writeKeySpecification(writer, keyAt);
  writer.array(0);
}

function writeKeySpecification(writer: ReplyWriter, keyAt: number): void {
  writer.set(keyAt > 0 ? 1 : 0);
  if (keyAt === 0) return;
  writer.map(3);
  writer.bulk('flags');
  writer.set(3);
  for (const flag of ['RW', 'access', 'update']) writer.simple(flag);
  writer.bulk('begin_search');
  writer.map(2);
  writer.bulk('type');
  writer.bulk('index');
  writer.bulk('spec');
  writer.map(1);
  writer.bulk('index');
  writer.integer(keyAt);
  writer.bulk('find_keys');
  writer.map(2);
  writer.bulk('type');
  writer.bulk('range');
  writer.bulk('spec');
  writer.map(3);
  writer.bulk('lastkey');
  writer.integer(0);
  writer.bulk('keystep');
  writer.integer(1);
  writer.bulk('limit');
  writer.integer(0);
}

function writeDocs(writer: ReplyWriter, { name, summary, group }: Command): void {
  writer.bulk(name);
  writer.map(2);
  writer.bulk('summary');
  writer.bulk(summary);
  writer.bulk('group');
  writer.bulk(group);
}
