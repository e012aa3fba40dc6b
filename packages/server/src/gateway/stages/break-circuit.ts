/** May the member be asked? One that keeps failing is left alone until a few probes have passed. */
import type { Passage, Step } from '../passage.ts';

export function breakCircuit(passage: Passage): Step {
  const { member } = passage.picked!;
  if (member.breaker === undefined) return 'next';
  passage.circuit = member.breaker.tryPass();
  if (passage.circuit !== undefined) return 'next';
  passage.picked!.done('ignored');
  leaveOut(passage, member.id);
  return 'again';
}

/** Not to be chosen again for this request. */
export function leaveOut(passage: Passage, id: string): void {
  passage.leftOut ??= new Set();
  passage.leftOut.add(id);
}
