import { expect, it } from 'vitest';
import { type SharedMachine, throughputOf } from './shared-machine.ts';

// biome-ignore format: aligned rows
const rows: [cores: number, nodes: number, generators: number, nodeUs: number, generatorUs: number, perSecond: number, scarce: string][] = [
  [  2, 1, 1, 10, 10, 100_000, 'cores'      ],  // one core each: all three are as scarce
  [  2, 2, 2, 10, 10, 100_000, 'cores'      ],  // a second node on the same two cores is no gain
  [  2, 1, 1, 10,  2, 100_000, 'nodes'      ],  // the generator has time to spare, the node has one core
  [  2, 2, 2, 10,  2, 166_667, 'cores'      ],  // now the second core is used
  [  8, 3, 1, 10,  5, 200_000, 'generators' ],
  [ 64, 3, 3, 10,  5, 300_000, 'nodes'      ],
];

it.each(rows)(
  '%d cores, %d nodes, %d generators of %d and %d us',
  (cores, nodes, generators, nodeUs, generatorUs, perSecond, scarce) => {
    const machine: SharedMachine = { cores, nodes, generators, nodeUs, generatorUs };
    const found = throughputOf(machine);
    expect(Math.round(found.checksPerSecond)).toBe(perSecond);
    expect(found.scarce).toBe(scarce);
  },
);
