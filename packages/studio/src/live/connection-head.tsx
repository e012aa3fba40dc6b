/** Who is being watched, and whether it is heard. */
import { useEffect, useState } from 'preact/hooks';
import type { LiveSnapshot } from './contract.ts';
import type { Connection } from './watch-service.ts';
import { countText, longTimeText } from './words.ts';

interface ConnectionHeadProps {
  readonly connection: Connection;
  readonly snapshot: LiveSnapshot | undefined;
  readonly isPaused: boolean;
  readonly hasToken: boolean;
  readonly onPause: () => void;
  readonly onForgetToken: () => void;
  readonly onConnectAgain: () => void;
}

const words: Readonly<Record<Connection['state'], { readonly text: string; readonly look: string }>> = {
  connecting: { text: '◌ Connecting', look: 'doubtful' },
  live: { text: '● Live', look: 'good' },
  waiting: { text: '↻ Reconnecting', look: 'doubtful' },
  unauthorized: { text: '✕ Needs a token', look: 'bad' },
  'not-a-service': { text: '– No service', look: 'quiet' },
};

export function ConnectionHead(props: ConnectionHeadProps) {
  const { connection, snapshot, isPaused, hasToken, onPause, onForgetToken, onConnectAgain } = props;
  const { text, look } = words[connection.state];
  return (
    <header class="live-head">
      <h1>Live</h1>
      <span class={`state ${look}`}>
        {/* Said once for each change; the seconds that count down are only shown. */}
        <span role="status">{isPaused && connection.state === 'live' ? '❚❚ Paused' : text}</span>
        {connection.state === 'waiting' && <CountDown key={connection.because} waitMs={connection.waitMs} />}
      </span>
      {snapshot && <Facts snapshot={snapshot} isOld={connection.state !== 'live'} />}
      <span class="live-head-buttons">
        {hasToken && (
          <button type="button" onClick={onForgetToken}>
            Forget the token
          </button>
        )}
        {connection.state === 'waiting' && (
          <button type="button" onClick={onConnectAgain}>
            Connect now
          </button>
        )}
        {snapshot && (
          <button type="button" aria-pressed={isPaused} onClick={onPause}>
            Pause
          </button>
        )}
      </span>
      {connection.state === 'waiting' && (
        <p class="live-head-because quiet">
          {snapshot && 'What is shown was seen before. '}Because: {connection.because}
        </p>
      )}
    </header>
  );
}

function Facts({ snapshot, isOld }: { readonly snapshot: LiveSnapshot; readonly isOld: boolean }) {
  const { kind, version, atMs, startedAtMs, isReady, notReadyBecause, store } = snapshot;
  return (
    <dl class="facts">
      <Fact name={kind === 'gateway' ? 'Gateway' : 'Service'} value={version} />
      <Fact name="Up" value={longTimeText(atMs - startedAtMs)} />
      {!isOld && (
        <div>
          <dt>Ready</dt>
          <dd class={isReady ? 'good' : 'bad'}>
            {isReady ? '✓ yes' : `✕ no: ${notReadyBecause ?? 'it does not say why'}`}
          </dd>
        </div>
      )}
      <Fact name="Store" value={store.type} />
      {store.keys !== null && <Fact name="Keys" value={countText(store.keys)} />}
      {store.errors > 0 && <Fact name="Store errors" value={countText(store.errors)} />}
      {store.evictedLiveKeys > 0 && <Fact name="Evicted live keys" value={countText(store.evictedLiveKeys)} />}
    </dl>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function CountDown({ waitMs }: { readonly waitMs: number }) {
  const [leftSeconds, setLeftSeconds] = useState(Math.ceil(waitMs / 1000));
  useEffect(() => {
    const endMs = performance.now() + waitMs;
    const show = () => setLeftSeconds(Math.max(0, Math.ceil((endMs - performance.now()) / 1000)));
    show();
    const timer = setInterval(show, 250);
    return () => clearInterval(timer);
  }, [waitMs]);
  return <span aria-hidden="true"> in {leftSeconds} s</span>;
}
