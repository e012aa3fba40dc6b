import { describe, expect, it } from 'vitest';
import { machinePace, nappingPace } from './pace.ts';

/** A clock that moves only in naps, and when told. */
function clockwork() {
  const naps: number[] = [];
  const clock = { nowMs: 1000 };
  const pace = nappingPace(
    () => clock.nowMs,
    (ms) => {
      naps.push(ms);
      clock.nowMs += ms;
    },
  );
  return { clock, naps, pace };
}

describe('rests before times that are near', () => {
  it('are naps from look to look, not looks at the clock all the time', async () => {
    const { clock, naps, pace } = clockwork();
    await pace.rest(1001);
    expect(naps).toEqual([]); // the first look
    clock.nowMs += 0.05;
    await pace.rest(1001);
    expect(naps).toEqual([expect.closeTo(0.15, 6)]);
    await pace.rest(1001);
    expect(naps.slice(1)).toEqual([expect.closeTo(0.2, 6)]);
  });

  it('are naps as well where a request waits for room, whose time is over', async () => {
    const { clock, naps, pace } = clockwork();
    await pace.rest(clock.nowMs);
    await pace.rest(clock.nowMs - 5);
    expect(naps).toEqual([expect.closeTo(0.2, 6)]);
  });

  it('are none after a turn that took longer than a nap', async () => {
    const { clock, naps, pace } = clockwork();
    await pace.rest(clock.nowMs);
    clock.nowMs += 3;
    await pace.rest(clock.nowMs);
    expect(naps).toEqual([]);
  });

  it('let others work each time', async () => {
    let worked = 0;
    for (let rests = 1; rests <= 3; rests += 1) {
      setImmediate(() => {
        worked += 1;
      });
      await machinePace.rest(machinePace.nowMs());
      expect(worked).toBe(rests);
    }
  });
});
