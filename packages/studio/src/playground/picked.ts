/** The call that somebody looks at, and the keys that go from one to the next. */
import type { AlgorithmName } from './algorithms.ts';
import type { DecidedCall, Lane } from './engine.ts';
import { type Frame, gutterPx, shownCalls, xOf } from './lane-geometry.ts';

export interface Picked {
  readonly lane: AlgorithmName;
  readonly order: number;
  /** What is picked by the keyboard is read out. */
  readonly isByKey: boolean;
}

/** The order of the call that a key goes to; nothing when the key is for something else or there is nowhere to go. */
export function goTo(key: string, from: number | undefined, lane: Lane, frame: Frame): number | undefined {
  const shown = [...shownCalls(lane, frame)].filter(({ atMs }) => xOf(frame, atMs) >= gutterPx);
  const isRefused = ({ decision }: DecidedCall) => !decision.allowed;
  const before = shown.filter(({ order }) => from === undefined || order < from);
  const after = shown.filter(({ order }) => from !== undefined && order > from);
  switch (key) {
    case 'ArrowLeft':
      return before.at(-1)?.order;
    case 'ArrowRight':
      return (from === undefined ? shown.at(-1) : after[0])?.order;
    case 'PageUp':
      return before.filter(isRefused).at(-1)?.order;
    case 'PageDown':
      return after.find(isRefused)?.order;
    case 'Home':
      return shown[0]?.order;
    case 'End':
      return shown.at(-1)?.order;
    default:
      return undefined;
  }
}
