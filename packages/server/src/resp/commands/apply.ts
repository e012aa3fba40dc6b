/**
 * `SLUICE.APPLY id count (name key policy cost details)...`: whole checks, all or nothing, as `sluice/client` sends them. What travels
 * is said in its wire.ts, which both sides use.
 *
 * The door looks where the first key is counted (`keyAt`), as for every command. A batch may have keys of several slots, if this node
 * owns them all; else the client is told where the first of the others is, and nothing is counted.
 */

import type { Decision } from 'sluice';
import {
  type Arguments,
  applyCommandName,
  argumentsPerCheck,
  checksOfArguments,
  firstKeyAt,
  requestIdOf,
  writeDecisions,
} from 'sluice/client';
import type { ClusterDoor } from '../../cluster/view.ts';
import type { Answer, Service } from '../../service/service.ts';
import { AnsweredCommands } from '../answered-commands.ts';
import type { Command } from '../command.ts';
import { CommandError } from '../error-reply.ts';
import { keySlot } from '../key-slot.ts';
import { endpointText, nodeEndpoint } from '../node-endpoint.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Turn } from '../turn.ts';

/**
 * The arguments of a turn. Names, policies and counts come again and again: what has the same bytes as in the last command is the same
 * text, and need not be made again.
 */
class RecurringArguments implements Arguments {
  turn!: Turn;
  private readonly texts: (string | undefined)[] = [];
  private readonly bytes: Buffer[] = [];

  get count(): number {
    return this.turn.reader.count;
  }

  text(i: number): string {
    return this.again(i) ?? this.remember(i, this.turn.text(i));
  }

  key(i: number, field?: string): string {
    // Ids and keys differ from command to command.
    if (field !== 'name') return this.turn.key(i, field);
    return this.again(i) ?? this.remember(i, this.turn.key(i, field));
  }

  private again(i: number): string | undefined {
    const text = this.texts[i];
    if (text === undefined) return undefined;
    const { buffer, reader } = this.turn;
    const bytes = this.bytes[i]!;
    const start = reader.starts[i]!;
    if (reader.stops[i]! - start !== bytes.length) return undefined;
    for (let at = 0; at < bytes.length; at += 1) if (buffer[start + at] !== bytes[at]) return undefined;
    return text;
  }

  private remember(i: number, text: string): string {
    if (i >= rememberedArguments) return text;
    const { buffer, reader } = this.turn;
    this.texts[i] = text;
    this.bytes[i] = Buffer.from(buffer.subarray(reader.starts[i]!, reader.stops[i]!));
    return text;
  }
}

// Those of the first few checks of a batch.
const rememberedArguments = 3 + 8 * argumentsPerCheck;

/** @param cluster undefined: a server of its own, which owns everything */
export function applyCommand(
  service: Pick<Service, 'apply' | 'answersAtOnce'>,
  cluster: Pick<ClusterDoor, 'route'> | undefined,
): Command {
  const args = new RecurringArguments();
  const once = service.answersAtOnce === true ? new AppliedOnce() : undefined;

  function apply(turn: Turn, requestId: string | undefined): Answer<Decision[]> {
    const checks = checksOfArguments(args);
    if (cluster && checks.length > 1) mustOwnAll(turn, cluster);
    // A reservation is settled once, whatever bytes say so: that is not for the door to know.
    const isSettlement = requestId === undefined && checks.some(({ operation }) => operation === 'settle');
    return service.apply(checks, isSettlement ? requestIdOf(args) : requestId);
  }

  return {
    name: applyCommandName.toLowerCase(),
    arity: -(firstKeyAt + argumentsPerCheck - 1),
    summary: 'Applies whole checks, all or nothing (sluice/client).',
    group: 'module',
    keyAt: firstKeyAt,
    run(turn) {
      args.turn = turn;
      const hasId = turn.reader.stops[1]! > turn.reader.starts[1]!;
      if (once !== undefined && hasId) once.run(turn, () => apply(turn, undefined));
      else turn.reply(apply(turn, requestIdOf(args)), writeDecisions);
    },
  };
}

/**
 * Answers a command of the same bytes with the same bytes, for services that answer at once. Where others have to be asked, they are
 * given the id, and remember it: a client may come back to another thread or another process.
 */
class AppliedOnce {
  private readonly answered = new AnsweredCommands();
  // By the bytes of their commands, those that are still being answered.
  private readonly underWay = new Map<string, Promise<Decision[]>>();

  run(turn: Turn, apply: () => Answer<Decision[]>): void {
    const { buffer, reader, writer } = turn;
    const start = reader.starts[0]!;
    const stop = reader.stops[reader.count - 1]!;
    turn.mustBeKey(1, 'request id');
    const hash = this.answered.hash(buffer, reader.starts[1]!, reader.stops[1]!);
    const known = this.answered.find(hash, buffer, start, stop, performance.now());
    if (known !== undefined) {
      writer.append(known);
      return;
    }
    const same = this.underWay.size > 0 ? this.underWay.get(buffer.toString('latin1', start, stop)) : undefined;
    if (same !== undefined) {
      turn.reply(same, writeDecisions);
      return;
    }
    const answer = apply();
    if (answer instanceof Promise) this.later(turn, Buffer.from(buffer.subarray(start, stop)), hash, answer);
    else this.write(writer, answer, hash, buffer, start, stop);
  }

  private later(turn: Turn, command: Buffer, hash: number, answer: Promise<Decision[]>): void {
    const text = command.toString('latin1');
    const settled = () => this.underWay.delete(text);
    this.underWay.set(text, answer);
    answer.then(settled, settled);
    turn.reply(answer, (writer, decisions) => this.write(writer, decisions, hash, command, 0, command.length));
  }

  private write(
    writer: ReplyWriter,
    decisions: Decision[],
    hash: number,
    bytes: Buffer,
    start: number,
    stop: number,
  ): void {
    const mark = writer.length;
    writeDecisions(writer, decisions);
    const reply = writer.cut(mark);
    writer.append(reply);
    this.answered.add(hash, bytes, start, stop, reply, performance.now());
  }
}

function mustOwnAll({ buffer, reader }: Turn, cluster: Pick<ClusterDoor, 'route'>): void {
  for (let i = firstKeyAt + argumentsPerCheck; i < reader.count; i += argumentsPerCheck) {
    const slot = keySlot(buffer, reader.starts[i]!, reader.stops[i]!);
    const route = cluster.route(slot);
    if (route === 'nowhere') throw new CommandError('Hash slot not served', 'CLUSTERDOWN');
    if (route !== 'here') throw new CommandError(`${slot} ${endpointText(nodeEndpoint(route.addresses))}`, 'MOVED');
  }
}
