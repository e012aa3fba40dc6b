/** Renders again while a run goes on, but no more often than can be read; and at once when something other than time has changed. */
import { useEffect, useState } from 'preact/hooks';
import type { Player } from './player.ts';

export function useTicks(player: Player, everyMs: number): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    let renderedMs = 0;
    const render = () => {
      renderedMs = performance.now();
      setTick((tick) => tick + 1);
    };
    const ends = [
      player.onFrame(() => {
        if (performance.now() - renderedMs >= everyMs) render();
      }),
      player.onChange(render),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [player, everyMs]);
}
