import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Player, type PlayerOptions, player, sameMoment } from './player.ts';
import { defaultSettings, runEndMs, type Settings } from './settings.ts';

const rows: [why: string, nowMs: number, to: Partial<Settings>, expectedMs: number][] = [
  ['stays where it is', 45_000, { limit: 3 }, 45_000],
  ['stays early in a run', 4000, { windowMs: 60_000 }, 4000],
  ['goes on until a longer picture is full', 45_000, { windowMs: 60_000 }, 180_000],
  ['comes back from where it would take too long to get', 3_600_000, { callsPerSecond: 20 }, 100_000],
];

test.each(rows)('a run that is changed %s', (_, nowMs, to, expectedMs) => {
  expect(sameMoment({ nowMs, settings: defaultSettings }, { ...defaultSettings, ...to })).toBe(expectedMs);
});

/** The screen, whose frames come when a test says so. */
const screen = {
  asked: undefined as ((timeMs: number) => void) | undefined,
  timeMs: 0,
  frame(): boolean {
    const draw = screen.asked;
    screen.asked = undefined;
    screen.timeMs += 16;
    draw?.(screen.timeMs);
    return draw !== undefined;
  },
};

beforeEach(() => {
  screen.asked = undefined;
  vi.stubGlobal('requestAnimationFrame', (draw: (timeMs: number) => void) => {
    screen.asked = draw;
    return 1;
  });
});
afterEach(() => vi.unstubAllGlobals());

function playerAt(fromMs: number, options: Partial<PlayerOptions> = {}): Player {
  return player({ settings: defaultSettings, handCallsMs: [], speed: 1, isPlaying: false, fromMs, ...options });
}

const callsOf = ({ engine }: Player) => engine.lanes[0]!.calls.added;

test('a run ends where addresses end, and stops there', () => {
  const run = playerAt(runEndMs - 500, {
    isPlaying: true,
    speed: 20,
    settings: { ...defaultSettings, shape: 'steady' },
  });
  while (screen.frame());
  expect([run.isPlaying, run.isAtEnd, run.engine.nowMs, run.atMs]).toEqual([false, true, runEndMs, runEndMs]);
  run.play();
  run.stepOnce();
  expect([run.isPlaying, run.engine.nowMs]).toEqual([false, runEndMs]);
  run.restart();
  expect([run.isAtEnd, run.atMs]).toEqual([false, 0]);
});

const busiest: Settings = { ...defaultSettings, shape: 'steady', callsPerSecond: 20 };

test('a moment far away is reached over many frames, none of which runs more than a few thousand calls', () => {
  const run = playerAt(600_000, { settings: busiest, handCallsMs: [599_000] });
  const changes: number[] = [];
  run.onChange(() => changes.push(run.engine.nowMs));
  let calls = callsOf(run);
  const slices = [calls];
  while (screen.frame()) {
    slices.push(callsOf(run) - calls);
    calls = callsOf(run);
    expect([run.atMs, run.engine.handCallsMs]).toEqual([600_000, [599_000]]);
  }
  expect(Math.max(...slices)).toBeLessThanOrEqual(2001);
  expect(slices.length).toBeGreaterThan(5);
  expect([run.engine.nowMs, callsOf(run)]).toEqual([600_000, 12_002]);
  // The numbers beside the picture are rendered once more when it is there.
  expect(changes).toEqual([600_000]);
});

test.each<[what: string, act: (run: Player) => void, atMs: number, calls: number]>([
  ['a call by hand', (run) => run.callNow(), 200_010, 4002],
  ['a step', (run) => run.stepOnce(), 200_050, 4002],
  ['a pause', (run) => run.pause(), 200_010, 4001],
  ['a change', (run) => run.change({ ...busiest, callsPerSecond: 10 }), 200_000, 2001],
])('%s on the way to a moment happens as if it had got there', (_, act, atMs, calls) => {
  const run = playerAt(200_010, { settings: busiest });
  expect(run.engine.nowMs).toBeLessThan(200_010);
  act(run);
  while (screen.frame());
  expect([run.engine.nowMs, callsOf(run)]).toEqual([atMs, calls]);
});

test('of many changes between two frames only the last is run', () => {
  const run = playerAt(30_000);
  while (screen.frame());
  let changes = 0;
  run.onChange(() => {
    changes += 1;
  });
  for (let limit = 1; limit <= 40; limit += 1) run.change({ ...defaultSettings, limit });
  while (screen.frame());
  expect([changes, run.engine.settings.limit, run.engine.nowMs]).toEqual([1, 40, 30_000]);
});

test('a change that nobody can wait a frame for is taken at once', () => {
  const run = playerAt(30_000);
  while (screen.frame());
  run.change({ ...defaultSettings, limit: 7 });
  expect(run.engine.settings.limit).toBe(defaultSettings.limit);
  run.takeSettings();
  expect([run.engine.settings.limit, run.engine.nowMs]).toEqual([7, 30_000]);
});
