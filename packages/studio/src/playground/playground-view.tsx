/** All algorithms on the same traffic, live: the library itself runs in the page. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CopyBox } from '../parts/copy-box.tsx';
import { Panel } from '../parts/panel.tsx';
import type { ViewProps } from '../shell/app.tsx';
import { algorithms } from './algorithms.ts';
import { Controls } from './controls.tsx';
import { spanMsOf } from './engine.ts';
import { laneColours, whenColoursChange } from './lane-colours.ts';
import { LaneView, laneOf } from './lane-view.tsx';
import type { Picked } from './picked.ts';
import './playground.css';
import { type Player, player } from './player.ts';
import { reasonOf } from './reason.ts';
import { type Settings, type State, stateOf } from './settings.ts';
import { typescriptOf, yamlOf } from './source-code.ts';
import { TimeAxis } from './time-axis.tsx';
import { durationText } from './time-text.ts';
import { shapeTitles } from './traffic-shape.ts';
import { Transport } from './transport.tsx';
import { askedBy, type Shown, useAddress } from './use-address.ts';

export function PlaygroundView({ query }: ViewProps) {
  const visits = useRef(0);
  // An address that somebody enters while this is shown starts it anew, also the one that it was started by.
  const [visit, asked] = useMemo(() => [++visits.current, askedBy(query)], [query]);
  return <Playground key={visit} asked={asked} />;
}

function Playground({ asked }: { readonly asked: URLSearchParams }) {
  const [initial] = useState(() => stateOf(asked));
  const [settings, setSettings] = useState(initial.settings);
  const [shown, setShown] = useState<Shown>(initial.showing);
  const [picked, setPicked] = useState<Picked>();
  const [run] = useState(() => playerOf(initial));
  const colours = useColours();
  // Before the end of the run, which stops it: the address of one that plays has no moment.
  const link = useAddress(run, settings, shown, asked);
  useEffect(() => () => run.end(), [run]);

  function change(next: Settings): void {
    setSettings(next);
    setPicked(undefined);
    run.change(next);
  }

  function setSpeed(speed: number): void {
    run.setSpeed(speed);
    setShown({ ...shown, speed });
  }

  return (
    <div class="playground">
      <header class="playground-head">
        <h1>Playground</h1>
        <p class="quiet">The same calls through every algorithm. The library itself runs in this page.</p>
      </header>
      <SettingsPanel settings={settings}>
        <Controls
          settings={settings}
          onChange={change}
          lanes={shown.lanes}
          onLanes={(lanes) => setShown({ ...shown, lanes })}
        />
      </SettingsPanel>
      <section class="panel lanes" aria-label="Lanes">
        <Transport player={run} speed={shown.speed} onSpeed={setSpeed} link={link} />
        <Legend settings={settings} />
        <div class="lane-list">
          {shown.lanes.map((name) => (
            <LaneView
              key={name}
              name={name}
              player={run}
              colours={colours}
              isSelected={name === shown.selected}
              picked={picked}
              onPick={setPicked}
              onSelect={() => setShown({ ...shown, selected: name })}
            />
          ))}
        </div>
        <TimeAxis player={run} colours={colours} />
        <p class="quiet hint">
          Point at a call to see why.{' '}
          <span class="hint-keys">
            With a lane in focus: <kbd>←</kbd> <kbd>→</kbd> go from call to call, <kbd>Page Up</kbd> and{' '}
            <kbd>Page Down</kbd> between refusals, <kbd>Space</kbd> pauses, <kbd>S</kbd> steps, <kbd>C</kbd> calls.
          </span>
        </p>
      </section>
      <Panel title={`${algorithms[shown.selected].title} in code`} class="source-code">
        <div class="source-code-boxes">
          <CopyBox label="TypeScript" text={typescriptOf(shown.selected, settings)} />
          <CopyBox label="YAML" text={yamlOf(shown.selected, settings)} />
        </div>
      </Panel>
      <p role="status" aria-label="Why" class="visually-hidden">
        {spokenReason(run, picked)}
      </p>
    </div>
  );
}

/** What an address asks for; without an address, a full picture. Those who want no motion start with a still one. */
function playerOf({ settings, showing }: State): Player {
  const { stoppedAtMs, handCallsMs, speed } = showing;
  return player({
    settings,
    handCallsMs,
    speed,
    isPlaying: stoppedAtMs === undefined && !matchMedia('(prefers-reduced-motion: reduce)').matches,
    // Not quite on a boundary of the fixed window, where its count has just vanished.
    fromMs: stoppedAtMs ?? 0.97 * spanMsOf(settings),
  });
}

function useColours() {
  const [colours, setColours] = useState(laneColours);
  useEffect(() => whenColoursChange(() => setColours(laneColours())), []);
  return colours;
}

const wide = '(min-width: 900px)';

/** Beside the lanes where there is room; folded above them where there is not. */
function SettingsPanel({ settings, children }: { settings: Settings; children: preact.ComponentChildren }) {
  const [isOpen, setOpen] = useState(() => matchMedia(wide).matches);
  useEffect(() => {
    const query = matchMedia(wide);
    const follow = () => query.matches && setOpen(true);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return (
    <details class="panel settings" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <strong>Settings</strong>{' '}
        <span class="quiet">
          {settings.limit} per {durationText(settings.windowMs)}; {shapeTitles[settings.shape].toLowerCase()},{' '}
          {settings.callsPerSecond}/s
        </span>
      </summary>
      {children}
    </details>
  );
}

function Legend({ settings }: { readonly settings: Settings }) {
  return (
    <div class="lane-legend" aria-hidden="true">
      <span />
      <span class="marks">
        <span>
          <b class="allowed">●</b> allowed
        </span>
        <span>
          <b class="delayed">●╌┤</b> delayed
        </span>
        <span>
          <b class="refused">×</b> refused
        </span>
        <span>
          <b class="level">▂</b> in use
        </span>
      </span>
      <span class="lane-columns">
        <span>allowed</span>
        <span>refused</span>
        <span>worst {durationText(settings.windowMs)}</span>
      </span>
    </div>
  );
}

function spokenReason(run: Player, picked: Picked | undefined): string {
  if (picked === undefined || !picked.isByKey) return '';
  const call = laneOf(run, picked.lane).calls.ofOrder(picked.order);
  return call === undefined ? '' : reasonOf(call, run.engine.settings);
}
