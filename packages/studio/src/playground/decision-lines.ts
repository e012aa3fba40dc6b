/**
 * What the page decided, to take along: JSON lines, one per decision, behind one that says of what run. Whoever runs the engine on those
 * settings up to that moment gets the same.
 */
import type { DecidedCall, Engine } from './engine.ts';
import type { Settings } from './settings.ts';

export interface RunLine {
  readonly settings: Settings;
  readonly handCallsMs: readonly number[];
  readonly untilMs: number;
  /** Decisions that were made but are no longer known: the page keeps the latest. */
  readonly forgotten: number;
}

export function decisionLines({ settings, handCallsMs, nowMs, lanes }: Engine): string {
  const forgotten = lanes.reduce((sum, { calls }) => sum + calls.added - calls.size, 0);
  const run: RunLine = { settings, handCallsMs, untilMs: nowMs, forgotten };
  const lines = lanes.flatMap(({ calls }) => [...calls].map((call) => JSON.stringify(decisionLine(call))));
  return `${[JSON.stringify(run), ...lines].join('\n')}\n`;
}

/** `retryAfterMs` is null when waiting never helps, as on the wire: JSON has no Infinity. */
export function decisionLine({ lane, order, atMs, cost, isByHand, decision }: DecidedCall) {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs } = decision;
  return {
    lane,
    call: order + 1,
    atMs,
    cost,
    isByHand,
    allowed,
    limit,
    remaining,
    retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : null,
    resetAfterMs,
    delayMs,
  };
}
