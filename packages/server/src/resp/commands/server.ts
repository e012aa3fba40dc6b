/** INFO and CONFIG GET: what clients and benchmarks look up before they begin. */
import { hostname } from 'node:os';
import type { LimitsConfig } from '../../config/config.ts';
import type { DoorMeter } from '../../service/door-meter.ts';
import type { Command } from '../command.ts';
import { wrongArity } from '../error-reply.ts';
import { oneOf } from './subcommand.ts';

/** The version of Redis whose commands, as far as we have them, and replies these are: clients choose by it what to send. */
export const redisVersion = '7.4.0';

export interface ServerContext {
  readonly meter: DoorMeter;
  readonly limits: LimitsConfig;
  nowMs(): number;
}

export function infoCommand({ meter, limits, nowMs }: ServerContext): Command {
  const startedMs = nowMs();
  const sections = (port: number): Record<string, Record<string, string | number>> => ({
    server: {
      redis_version: redisVersion,
      server_name: 'sluice',
      redis_mode: 'cluster',
      process_id: process.pid,
      host: hostname(),
      tcp_port: port,
      uptime_in_seconds: Math.floor((nowMs() - startedMs) / 1000),
    },
    clients: { connected_clients: meter.connections, maxclients: limits.connections },
    persistence: { loading: 0, async_loading: 0 },
    stats: {
      total_commands_processed: meter.requests,
      rejected_connections: meter.refusedConnections,
      acl_access_denied_auth: meter.unauthorized,
    },
    replication: { role: 'master', connected_slaves: 0 },
    cluster: { cluster_enabled: 1 },
  });

  return {
    name: 'info',
    arity: -1,
    summary: 'Says what there is to know about the server.',
    group: 'server',
    run(turn) {
      const asked = new Set<string>();
      for (let i = 1; i < turn.count; i += 1) asked.add(turn.text(i).toLowerCase());
      const isAll = asked.size === 0 || asked.has('all') || asked.has('everything') || asked.has('default');
      const text = Object.entries(sections(turn.session.local.port))
        .filter(([name]) => isAll || asked.has(name))
        .map(([name, fields]) => {
          const lines = Object.entries(fields).map(([field, value]) => `${field}:${value}\r\n`);
          return `# ${name[0]!.toUpperCase()}${name.slice(1)}\r\n${lines.join('')}`;
        });
      turn.writer.verbatim(text.join('\r\n'));
    },
  };
}

/** Parameters that mean something here; asked for by name or by a pattern with stars. */
export function configCommand({ limits }: ServerContext): Command {
  const parameters = new Map([
    ['save', ''],
    ['appendonly', 'no'],
    ['databases', '1'],
    ['maxclients', String(limits.connections)],
    ['timeout', String(Math.ceil(limits.idleMs / 1000))],
    ['cluster-enabled', 'yes'],
  ]);

  return {
    name: 'config',
    arity: -2,
    summary: 'Says how the server is set.',
    group: 'server',
    run: oneOf('config', {
      get(turn) {
        if (turn.count < 3) throw wrongArity('config|get');
        const matching = new Set<string>();
        for (let i = 2; i < turn.count; i += 1) {
          const pattern = turn.text(i).toLowerCase();
          for (const name of parameters.keys()) if (matches(name, pattern)) matching.add(name);
        }
        turn.writer.map(matching.size);
        for (const name of matching) {
          turn.writer.bulk(name);
          turn.writer.bulk(parameters.get(name)!);
        }
      },
    }),
  };
}

/** A star is any text. Piece by piece and not by an expression, which a pattern of stars could make run for hours. */
function matches(name: string, pattern: string): boolean {
  const [first, ...rest] = pattern.split('*') as [string, ...string[]];
  if (rest.length === 0) return name === pattern;
  const last = rest.pop()!;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
