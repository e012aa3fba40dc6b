/** The address says what is shown, so that a reload, a link or a step back shows it again. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { parseRoute, replaceQuery, routeHash } from '../shell/route.ts';
import type { Player } from './player.ts';
import { queryOf, type Settings, type Showing } from './settings.ts';
import { dropUnwritten, keepUnwritten, takeUnwritten } from './unwritten.ts';

export type Shown = Pick<Showing, 'lanes' | 'selected' | 'speed'>;

/** What an address asks for: what it says, or what it would say had there been time. */
export function askedBy(said: URLSearchParams): URLSearchParams {
  const unwritten = takeUnwritten(said.toString());
  if (unwritten === undefined) return said;
  const query = new URLSearchParams(unwritten);
  replaceQuery('playground', query);
  return query;
}

/** @returns the address of what is shown now */
export function useAddress(run: Player, settings: Settings, shown: Shown, asked: URLSearchParams): () => string {
  const latest = useRef(shown);
  latest.current = shown;
  const [address] = useState(() => follower(asked.toString(), () => queryNow(run, latest.current)));
  useEffect(() => {
    const end = run.onChange(address.follow);
    addEventListener('pagehide', address.leave);
    addEventListener('pageshow', address.comeBack);
    document.addEventListener('visibilitychange', address.keep);
    return () => {
      end();
      removeEventListener('pagehide', address.leave);
      removeEventListener('pageshow', address.comeBack);
      document.removeEventListener('visibilitychange', address.keep);
      address.end();
    };
  }, [run, address]);
  const isFirst = useRef(true);
  // Not after the next frame: somebody may have left by then.
  useLayoutEffect(() => {
    if (!isFirst.current) address.follow();
    isFirst.current = false;
  }, [settings, shown, address]);
  return () => new URL(routeHash('playground', queryNow(run, latest.current)), location.href).href;
}

/** Not each step of a slider is written: browsers refuse too many changes. */
function follower(asked: string, queryNow: () => URLSearchParams) {
  let said = asked;
  let waiting: ReturnType<typeof setTimeout> | undefined;

  function write(): void {
    const { view, query: found } = parseRoute(location.hash);
    // Somebody has gone on: the address is another's, and this is about to end.
    if (view !== 'playground' || found.toString() !== said) return;
    const query = queryNow();
    replaceQuery('playground', query);
    said = query.toString();
    waiting = undefined;
    dropUnwritten();
  }

  function keep(): void {
    if (waiting !== undefined) keepUnwritten({ said, shown: queryNow().toString() });
  }

  /** The timer stops too: a page that is left runs on for some frames, and what it writes then is in nobody's history. */
  function leave(): void {
    keep();
    clearTimeout(waiting);
  }

  return {
    follow() {
      waiting ??= setTimeout(write, 300);
    },
    keep,
    leave,
    /** The page was set aside as it is, and is shown again. */
    comeBack() {
      if (waiting === undefined) return;
      clearTimeout(waiting);
      waiting = setTimeout(write, 300);
    },
    end: leave,
  };
}

function queryNow(run: Player, shown: Shown): URLSearchParams {
  run.takeSettings();
  const { engine, isPlaying, atMs } = run;
  const { settings, handCallsMs } = engine;
  return queryOf({ settings, showing: { ...shown, handCallsMs, stoppedAtMs: isPlaying ? undefined : atMs } });
}
