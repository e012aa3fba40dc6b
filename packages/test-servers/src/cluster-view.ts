/** What one node of a cluster believes: its answer to CLUSTER NODES, read into fields. */

export interface NodeView {
  readonly id: string;
  readonly port: number;
  /** E.g. myself, master, slave, fail, fail?, handshake. */
  readonly flags: readonly string[];
  /** Whom it replicates; undefined for a primary. */
  readonly primaryId: string | undefined;
  /** The later claim to a slot wins. */
  readonly configEpoch: number;
  /** First and last slot of each range that it serves. */
  readonly slotRanges: readonly (readonly [first: number, last: number])[];
}

export function parseClusterNodes(reply: string): NodeView[] {
  return reply
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine);
}

// id ip:port@busport[,hostname] flags primary ping-sent pong-received config-epoch link-state slot slot ...
function parseLine(line: string): NodeView {
  const [id, address, flags, primaryId, , , configEpoch, , ...slots] = line.split(' ');
  return {
    id: id!,
    port: Number(/:(\d+)@/.exec(address!)![1]),
    flags: flags!.split(','),
    primaryId: primaryId === '-' ? undefined : primaryId,
    configEpoch: Number(configEpoch),
    slotRanges: slots
      // A slot on the move stands in brackets, besides its range.
      .filter((slot) => !slot.startsWith('['))
      .map((slot) => {
        const [first, last] = slot.split('-').map(Number);
        return [first!, last ?? first!] as const;
      }),
  };
}

export function isPrimary(view: NodeView): boolean {
  return view.primaryId === undefined;
}

export function hasSlot(view: NodeView, slot: number): boolean {
  return view.slotRanges.some(([first, last]) => first <= slot && slot <= last);
}

/** Anything that says the node is not a settled member: still shaking hands, suspected, failed, address unknown. */
export function isSettled(view: NodeView): boolean {
  return !view.flags.some((flag) => ['handshake', 'fail', 'fail?', 'noaddr'].includes(flag));
}
