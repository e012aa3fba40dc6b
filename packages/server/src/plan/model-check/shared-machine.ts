/**
 * What nodes do together on a machine that they share with whoever asks them, which is how the model can be held against real runs where there is only one
 * machine. Whatever is scarcest decides:
 *
 *      all cores       cores / (node + generator)          both cost something for each check
 *      the nodes       nodes / node                        a node is one thread
 *      the generators  generators / generator              so is each of them
 */
export interface SharedMachine {
  readonly cores: number;
  readonly nodes: number;
  readonly generators: number;
  /** Processor time of the nodes for one check. */
  readonly nodeUs: number;
  readonly generatorUs: number;
}

export interface Throughput {
  readonly checksPerSecond: number;
  readonly scarce: 'cores' | 'nodes' | 'generators';
}

export function throughputOf({ cores, nodes, generators, nodeUs, generatorUs }: SharedMachine): Throughput {
  const most = {
    cores: (1e6 * cores) / (nodeUs + generatorUs),
    nodes: (1e6 * nodes) / nodeUs,
    generators: (1e6 * generators) / generatorUs,
  };
  const scarce = (['cores', 'nodes', 'generators'] as const).reduce((a, b) => (most[b] < most[a] ? b : a));
  return { checksPerSecond: most[scarce], scarce };
}
