/** What became of it: those who gave it a place get it back, and those who watch are told. Every request comes here, and once. */
import type { Passage, Step } from '../passage.ts';

export function report(passage: Passage): Step {
  const { plan, exchange, route } = passage;
  giveBack(passage);
  const durationMs = Math.max(0, plan.clock.now() - passage.startedMs);
  const meter = route?.meter ?? plan.strangers;
  meter.ended(exchange.isGone ? 'gone' : exchange.status, durationMs);
  if (passage.refusal !== undefined) meter.refused[passage.refusal] += 1;
  if (passage.delayedMs > 0) meter.delayed += 1;
  plan.accessLog?.write(passage, durationMs);
  plan.ended();
  return 'report';
}

function giveBack(passage: Passage): void {
  const { admitted, limits, plan } = passage;
  if (admitted !== undefined) admitted[passage.outcome]();
  if (limits === undefined || !limits.allowed || !limits.decisions.some(({ receipt }) => receipt !== undefined)) return;
  const released = plan.limits?.release(limits);
  // A lease that cannot be given back runs out by itself.
  if (released instanceof Promise)
    released.catch((error) => plan.log.warn({ err: error }, 'a place under a rule could not be given back'));
}
