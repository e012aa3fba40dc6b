/** What became of it: those who gave it a place get it back, and those who watch are told. Every request comes here, and once. */
import type { Passage, Step } from '../passage.ts';

export function report(passage: Passage): Step {
  const { plan, exchange, route } = passage;
  giveBack(passage);
  const durationMs = Math.max(0, plan.clock.now() - passage.startedMs);
  const meter = route?.meter ?? plan.strangers;
  meter.ended(exchange.hasLeft ? 'gone' : exchange.status, durationMs);
  if (passage.refusal !== undefined) meter.refused[passage.refusal] += 1;
  if (passage.delayedMs > 0) meter.delayed += 1;
  plan.accessLog?.write(passage, durationMs);
  plan.ended();
  return 'report';
}

function giveBack({ admitted, outcome, leased, plan }: Passage): void {
  if (admitted !== undefined) admitted[outcome]();
  if (leased !== undefined) plan.leases.end(leased);
}
