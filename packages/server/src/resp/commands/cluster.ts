/** CLUSTER: this server is a cluster of one node, which owns every slot. So the clients that only speak to clusters work, too. */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from '../command.ts';
import { wrongArity } from '../error-reply.ts';
import { keySlot, slots } from '../key-slot.ts';
import type { Endpoint } from '../session.ts';
import type { Turn } from '../turn.ts';
import { oneOf } from './subcommand.ts';

export function clusterCommand(isTls: boolean): Command {
  const subcommands = {
    slots(turn: Turn) {
      const { writer, session } = turn;
      writer.array(1);
      writer.array(3);
      writer.integer(0);
      writer.integer(slots - 1);
      writer.array(4);
      writer.bulk(session.local.address);
      writer.integer(session.local.port);
      writer.bulk(nodeId(session.local));
      writer.array(0);
    },
    shards(turn: Turn) {
      const { writer, session } = turn;
      const { address, port } = session.local;
      writer.array(1);
      writer.map(2);
      writer.bulk('slots');
      writer.array(2);
      writer.integer(0);
      writer.integer(slots - 1);
      writer.bulk('nodes');
      writer.array(1);
      writer.map(7);
      writer.bulk('id');
      writer.bulk(nodeId(session.local));
      writer.bulk(isTls ? 'tls-port' : 'port');
      writer.integer(port);
      writer.bulk('ip');
      writer.bulk(address);
      writer.bulk('endpoint');
      writer.bulk(address);
      writer.bulk('role');
      writer.bulk('master');
      writer.bulk('replication-offset');
      writer.integer(0);
      writer.bulk('health');
      writer.bulk('online');
    },
    nodes({ writer, session }: Turn) {
      const { address, port } = session.local;
      writer.verbatim(
        `${nodeId(session.local)} ${address}:${port}@${port} myself,master - 0 0 1 connected 0-${slots - 1}\n`,
      );
    },
    myid({ writer, session }: Turn) {
      writer.bulk(nodeId(session.local));
    },
    info({ writer }: Turn) {
      const fields = {
        cluster_enabled: 1,
        cluster_state: 'ok',
        cluster_slots_assigned: slots,
        cluster_slots_ok: slots,
        cluster_slots_pfail: 0,
        cluster_slots_fail: 0,
        cluster_known_nodes: 1,
        cluster_size: 1,
        cluster_current_epoch: 1,
        cluster_my_epoch: 1,
      };
      writer.verbatim(
        Object.entries(fields)
          .map(([field, value]) => `${field}:${value}\r\n`)
          .join(''),
      );
    },
    keyslot({ buffer, reader, writer }: Turn) {
      if (reader.count !== 3) throw wrongArity('cluster|keyslot');
      writer.integer(keySlot(buffer.subarray(reader.starts[2]!, reader.stops[2]!)));
    },
  };
  return {
    name: 'cluster',
    arity: -2,
    summary: 'Says who owns which keys: this node owns all.',
    group: 'cluster',
    run: oneOf('cluster', subcommands),
  };
}

/** Forty hexadecimal digits, the same from every thread and after a restart. */
function nodeId({ port }: Endpoint): string {
  return createHash('sha1').update(`sluice ${hostname()} ${port}`).digest('hex');
}
