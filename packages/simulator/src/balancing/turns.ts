/** Whose turn it is with smooth weighted round robin, cycle by cycle: a cycle is as many picks as the sum of the weights. */
import { smoothWeighted } from 'sluice/balance';

export interface Cycle {
  /** In the order of the picks. */
  readonly order: readonly string[];
  /** How often each was picked. */
  readonly picks: Readonly<Record<string, number>>;
}

/** Weights are whole numbers above 0. */
export function cyclesOf(weights: Readonly<Record<string, number>>, count: number): Cycle[] {
  const members = Object.entries(weights).map(([id, weight]) => ({ id, weight }));
  const length = members.reduce((sum, { weight }) => sum + weight, 0);
  const balancer = smoothWeighted(members);
  return Array.from({ length: count }, () => {
    const order = Array.from({ length }, () => {
      const picked = balancer.pick();
      picked?.done();
      return picked?.member.id ?? '';
    });
    const picks = Object.fromEntries(members.map(({ id }) => [id, order.filter((each) => each === id).length]));
    return { order, picks };
  });
}
