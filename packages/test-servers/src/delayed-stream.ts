/**
 * One direction of a proxied connection: chunks leave in the order they came, each no earlier than its delay.
 *
 * The flow decides about a chunk when it leaves, so that a change of flow also counts for what is on its way.
 * What is kept is bounded: beyond `mostHeldBytes` the source is not read, and its sender feels it as TCP does.
 */
import type { Socket } from 'node:net';

/** pass: onward. hold: keep it until it may pass. drop: read it and throw it away. */
export type Flow = 'pass' | 'hold' | 'drop';

export interface DelayedStreamOptions {
  readonly from: Socket;
  readonly to: Socket;
  readonly delayMs: () => number;
  readonly flow: () => Flow;
}

export interface DelayedStream {
  /** Whether bytes were thrown away: whoever reads the rest would misunderstand it. */
  readonly hasGap: boolean;
  /** To be called when the flow has changed. */
  update(): void;
}

interface Held {
  readonly dueMs: number;
  /** Undefined: the sender has ended its side. */
  readonly chunk: Buffer | undefined;
}

const mostHeldBytes = 1024 * 1024;

export function delayedStream({ from, to, delayMs, flow }: DelayedStreamOptions): DelayedStream {
  const held: Held[] = [];
  let heldBytes = 0;
  let lastDueMs = 0;
  let hasGap = false;
  let timer: NodeJS.Timeout | undefined;

  function receive(chunk: Buffer | undefined): void {
    // Never before the one ahead of it, also when the delay has become shorter.
    lastDueMs = Math.max(lastDueMs, performance.now() + delayMs());
    held.push({ dueMs: lastDueMs, chunk });
    heldBytes += chunk?.length ?? 0;
    update();
  }

  function update(): void {
    clearTimeout(timer);
    const isBlocked = () => flow() === 'hold' || to.writableLength > mostHeldBytes;
    while (held[0] !== undefined && held[0].dueMs <= performance.now() && !isBlocked()) send(held.shift()!);
    if (held[0] !== undefined && !isBlocked()) {
      timer = setTimeout(update, Math.max(1, Math.ceil(held[0].dueMs - performance.now())));
    }
    if (flow() === 'hold' || heldBytes > mostHeldBytes) from.pause();
    else from.resume();
  }

  function send({ chunk }: Held): void {
    heldBytes -= chunk?.length ?? 0;
    if (chunk === undefined) to.end();
    else if (flow() === 'drop') hasGap = true;
    else to.write(chunk);
  }

  from.on('data', receive);
  from.on('end', () => receive(undefined));
  from.on('close', () => clearTimeout(timer));
  to.on('drain', update);

  return {
    get hasGap() {
      return hasGap;
    },
    update,
  };
}
