/**
 * Lets simulated time pass with the screen's frames, at a speed, or not at all.
 *
 * Settings that change run the traffic so far again with the new ones: one sees at once what would have been. What takes longer than a frame
 * may last is run in slices, one per frame, so that the page answers meanwhile:
 *
 *      open at 1 h ─► slice ─ frame ─ slice ─ frame ─ ... ─ there
 */
import { type Engine, engine, spanMsOf } from './engine.ts';
import { runEndMs, type Settings } from './settings.ts';

export interface Player {
  readonly engine: Engine;
  readonly isPlaying: boolean;
  /** Where it is, or will be as soon as it has got there. */
  readonly atMs: number;
  /** A run has an end, so that an address can carry every moment of it. */
  readonly isAtEnd: boolean;
  play(): void;
  pause(): void;
  /** To the next arrival, and stops there. */
  stepOnce(): void;
  /** From the beginning, without the calls by hand. */
  restart(): void;
  callNow(): void;
  setSpeed(speed: number): void;
  /** With the next frame. */
  change(settings: Settings): void;
  /** What was to change with the next frame has changed. */
  takeSettings(): void;
  /** Asks for a frame, though nothing moves. */
  redraw(): void;
  /** Each time that the picture has to be drawn. */
  onFrame(draw: () => void): () => void;
  /** Each time that something other than time has changed. */
  onChange(changed: () => void): () => void;
  end(): void;
}

export interface PlayerOptions {
  readonly settings: Settings;
  readonly handCallsMs: readonly number[];
  readonly speed: number;
  readonly isPlaying: boolean;
  /** How much has happened before anybody looks. */
  readonly fromMs: number;
}

// A page in the background gets no frames; it goes on where it was.
const longestFrameMs = 100;
// What a change of settings may run again without making a slider stick.
const mostCallsAgain = 2000;
// What a frame may run: a twentieth of a second or so.
const callsPerSlice = 2000;

export function player(options: PlayerOptions): Player {
  const drawers = new Set<() => void>();
  const watchers = new Set<() => void>();
  let run = engine(options.settings, options.handCallsMs);
  let { isPlaying, speed } = options;
  let goalMs = Math.min(options.fromMs, runEndMs);
  let wanted: Settings | undefined;
  let frame: number | undefined;
  let lastMs: number | undefined;
  runSlice();

  const isThere = () => run.nowMs >= goalMs;

  function runSlice(): void {
    const sliceMs = (callsPerSlice / run.settings.callsPerSecond) * 1000;
    run.step(Math.min(goalMs, run.nowMs + sliceMs), goalMs);
  }

  function goTo(toMs: number): void {
    goalMs = Math.min(toMs, runEndMs);
    run.step(goalMs);
  }

  /** A slider passes many values between two frames, and only the last of them is seen. */
  function takeSettings(): void {
    if (wanted === undefined) return;
    goalMs = sameMoment({ nowMs: goalMs, settings: run.settings }, wanted);
    run = engine(
      wanted,
      run.handCallsMs.filter((atMs) => atMs <= goalMs),
    );
    wanted = undefined;
    runSlice();
    changed();
  }

  function onScreen(timeMs: number): void {
    frame = undefined;
    takeSettings();
    if (!isThere()) {
      runSlice();
      if (isThere()) changed();
    } else if (isPlaying) goTo(run.nowMs + Math.min(longestFrameMs, timeMs - (lastMs ?? timeMs)) * speed);
    lastMs = timeMs;
    if (isPlaying && run.nowMs >= runEndMs) setPlaying(false);
    if (isPlaying || !isThere()) redraw();
    for (const draw of drawers) draw();
  }

  function redraw(): void {
    frame ??= requestAnimationFrame(onScreen);
  }

  function changed(): void {
    redraw();
    for (const watcher of watchers) watcher();
  }

  /** Where it was to go, and there at a whole millisecond, where somebody may want to come back to. */
  function rest(): void {
    takeSettings();
    goTo(Math.ceil(goalMs));
  }

  function setPlaying(next: boolean): void {
    if (isPlaying && !next) rest();
    isPlaying = next;
    lastMs = undefined;
    changed();
  }

  redraw();
  return {
    get engine() {
      return run;
    },
    get isPlaying() {
      return isPlaying;
    },
    get atMs() {
      return goalMs;
    },
    get isAtEnd() {
      return goalMs >= runEndMs;
    },
    play: () => setPlaying(goalMs < runEndMs),
    pause: () => setPlaying(false),
    stepOnce() {
      rest();
      goTo(Math.ceil(run.nextArrivalMs));
      isPlaying = false;
      changed();
    },
    restart() {
      run = engine(wanted ?? run.settings);
      wanted = undefined;
      goalMs = 0;
      changed();
    },
    callNow() {
      rest();
      run.callNow();
      changed();
    },
    setSpeed(next) {
      speed = next;
    },
    change(settings) {
      wanted = settings;
      redraw();
    },
    takeSettings,
    redraw,
    onFrame: (draw) => listen(drawers, draw),
    onChange: (watcher) => listen(watchers, watcher),
    end() {
      if (frame !== undefined) cancelAnimationFrame(frame);
      drawers.clear();
      watchers.clear();
      isPlaying = false;
    },
  };
}

/** Where the new run is when the old one is here: at the same time, unless that is too far to run again, or the picture was full and would not be. */
export function sameMoment(run: Pick<Engine, 'nowMs' | 'settings'>, settings: Settings): number {
  const spanMs = spanMsOf(settings);
  const wasFull = run.nowMs >= spanMsOf(run.settings);
  const mostMs = Math.max(spanMs, Math.floor((mostCallsAgain / settings.callsPerSecond) * 1000));
  return Math.min(mostMs, wasFull ? Math.max(run.nowMs, spanMs) : run.nowMs);
}

function listen(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
