/** The order changes each second; not while somebody is about to press a button in it, with a pointer over it or with the focus in it. */
import { useRef, useState } from 'preact/hooks';
import { heldList, type RefusedKey } from './held-list.ts';

export interface Held {
  readonly list: readonly RefusedKey[];
  /** Listeners of the element that the list is in. */
  readonly hold: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocusIn(): void;
    onFocusOut(event: FocusEvent): void;
  };
}

export function useHeldList(latest: readonly RefusedKey[]): Held {
  const [hasPointer, setHasPointer] = useState(false);
  const [hasFocus, setHasFocus] = useState(false);
  const held = useRef(latest);
  held.current = hasPointer || hasFocus ? heldList(held.current, latest) : latest;
  const hold = {
    onPointerEnter: () => setHasPointer(true),
    onPointerLeave: () => setHasPointer(false),
    onFocusIn: () => setHasFocus(true),
    onFocusOut({ currentTarget, relatedTarget }: FocusEvent) {
      // From one button to the next is still inside.
      if (!(currentTarget as Node).contains(relatedTarget as Node | null)) setHasFocus(false);
    },
  };
  return { list: held.current, hold };
}
