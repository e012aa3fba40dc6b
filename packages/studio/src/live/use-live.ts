/** The view's own end of the connection: what was seen so far, and the token. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { monotonicClock } from 'sluice';
import { type History, nextHistory, noHistory } from './history.ts';
import { type ServiceApi, serviceApi } from './service-api.ts';
import { storedToken, storeToken } from './token.ts';
import type { Connection } from './watch-service.ts';
import { watchWhileShown } from './watch-while-shown.ts';

export interface Live {
  readonly connection: Connection;
  readonly history: History;
  readonly service: ServiceApi;
  /** Undefined: forgets it. */
  chooseToken(token: string | undefined): void;
  connectAgain(): void;
}

export function useLive(): Live {
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  const [history, setHistory] = useState(noHistory);
  const [token, setToken] = useState(storedToken);
  const [round, setRound] = useState(0);
  const service = useMemo(() => serviceApi(document.baseURI, token), [token]);
  // With `round`: a new round is a new connection.
  useEffect(() => {
    const controller = new AbortController();
    void watchWhileShown(document, {
      address: service.addressOf('v1/live'),
      token,
      clock: monotonicClock,
      random: Math.random,
      signal: controller.signal,
      onConnection: (next) => !controller.signal.aborted && setConnection(next),
      onSnapshot: (snapshot) => !controller.signal.aborted && setHistory((before) => nextHistory(before, snapshot)),
    });
    return () => controller.abort();
  }, [service, token, round]);
  return {
    connection,
    history,
    service,
    chooseToken(next) {
      storeToken(next);
      setToken(next);
      // What was seen with the other one is not for everybody who looks at the screen.
      setHistory(noHistory);
      setRound((before) => before + 1);
    },
    connectAgain: () => setRound((before) => before + 1),
  };
}
