/**
 * A command on a node of a cluster: a key that is counted elsewhere is not looked at, and the client is told where to go.
 *
 *      -MOVED 3999 10.0.0.7:6380           ask there, and keep in mind that the slot is there
 *      -CLUSTERDOWN Hash slot not served   nobody is known to count it
 */
import type { ClusterDoor } from '../cluster/view.ts';
import type { Command } from './command.ts';
import { keySlot } from './key-slot.ts';
import { endpointText, nodeEndpoint } from './node-endpoint.ts';
import type { Turn } from './turn.ts';

/** Wrapped when the door opens, so that a door without a cluster has nothing to ask at each command. */
export function routedCommand(command: Command, cluster: ClusterDoor): Command {
  const { keyAt } = command;
  if (keyAt === undefined) return command;
  return {
    ...command,
    run(turn: Turn): void {
      const { reader, writer } = turn;
      // CL.THROTTLE counts its arguments itself: one without a key is answered by whoever gets it.
      if (reader.count <= keyAt) {
        command.run(turn);
        return;
      }
      const slot = keySlot(turn.buffer, reader.starts[keyAt]!, reader.stops[keyAt]!);
      const route = cluster.route(slot);
      if (route === 'here') command.run(turn);
      else if (route === 'nowhere') writer.error('CLUSTERDOWN Hash slot not served');
      else writer.error(`MOVED ${slot} ${endpointText(nodeEndpoint(route.addresses))}`);
    },
  };
}
