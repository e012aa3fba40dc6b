/** The overrides of a service: as they were when somebody, here or elsewhere, last changed one. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Done, Overrides } from './overrides-panel.tsx';
import { type ActiveOverrideData, isOk, problemText, type ServiceApi } from './service-api.ts';

/** `revision` is another one whenever they may be others. */
export function useOverrides(service: ServiceApi, revision: string): Overrides {
  const [list, setList] = useState<readonly ActiveOverrideData[]>();
  const [problem, setProblem] = useState<string>();
  const [done, setDone] = useState<Done>();
  const asked = useRef(0);
  const refresh = useCallback(async () => {
    asked.current += 1;
    const own = asked.current;
    const reply = await service.ask('GET', 'v1/overrides');
    const present = isOk(reply) ? (reply.body as { overrides: readonly ActiveOverrideData[] }).overrides : undefined;
    // An answer that was overtaken by a later question's is old.
    if (own === asked.current) {
      if (present !== undefined) setList(present);
      setProblem(present === undefined ? problemText(reply) : undefined);
    }
    return present;
  }, [service]);
  // With `revision`: another one asks again.
  useEffect(() => {
    void refresh();
  }, [refresh, revision]);
  return { list, problem, done, refresh, setDone };
}
