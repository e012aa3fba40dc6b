import { expect, test } from 'vitest';
import { eventLoop } from '../events.ts';
import { Host } from './host.ts';

function hostWithRun(clock: { rate?: number; originMs?: number } = {}) {
  const loop = eventLoop({ seed: 3 });
  const random = loop.random.fork();
  const host = new Host({ loop, name: 'n', random, rate: 1, originMs: 0, isPunctual: true, ...clock });
  const run = host.boot();
  const seen: string[] = [];
  const see = (what: string) => () => seen.push(`${what} at ${Math.round(loop.nowMs)}`);
  return { loop, host, run, clock: host.clockOf(run), seen, see };
}

test('a clock has a rate and an origin of its own, and timers go by it', async () => {
  const { loop, clock, seen, see } = hostWithRun({ rate: 2, originMs: 500 });
  clock.after(100, see('timer'));
  await loop.run(80);
  expect([clock.nowMs(), clock.uptimeMs()]).toEqual([660, 660]);
  expect(seen).toEqual(['timer at 50']);
});

test('while it is paused nothing gets in or out, and then everything does', async () => {
  const { loop, host, run, clock, seen, see } = hostWithRun();
  clock.after(20, see('timer'));
  const goOn = host.pause();
  host.say(run, see('sending'));
  loop.at(10, () => host.pass(run, 'message', see('message')));
  loop.at(50, () => goOn('message'));
  await loop.run();
  expect(seen).toEqual(['sending at 50', 'message at 50', 'timer at 50']);
});

test('timers may come before messages, or after them', async () => {
  const orders = new Set<string>();
  for (let i = 0; i < 20; i += 1) {
    const { loop, host, run, clock, seen, see } = hostWithRun();
    for (let pauses = 0; pauses < i; pauses += 1) host.pause()();
    const goOn = host.pause();
    clock.after(1, see('timer'));
    loop.at(2, () => host.pass(run, 'message', see('message')));
    loop.at(3, () => goOn());
    await loop.run();
    orders.add(seen.join(', '));
  }
  expect(orders).toEqual(new Set(['timer at 3, message at 3', 'message at 3, timer at 3']));
});

test('a machine that sleeps has a clock that stands still, and timers that are late by as much', async () => {
  const { loop, host, clock, seen, see } = hostWithRun();
  clock.after(100, see('timer'));
  loop.at(50, () => loop.at(350, host.suspend()));
  await loop.run(380);
  expect([clock.nowMs(), clock.uptimeMs()]).toEqual([80, 380]);
  await loop.run();
  expect(seen).toEqual(['timer at 400']);
});

test('a stall is in the middle of a turn: the next look shows a later time, and what is said leaves then', async () => {
  const { loop, host, run, clock, seen, see } = hostWithRun();
  host.stallAt(1, 200);
  const looks: number[] = [];
  loop.at(10, () =>
    host.pass(run, 'message', () => {
      looks.push(clock.nowMs(), clock.nowMs());
      host.say(run, see('sending'));
    }),
  );
  loop.at(20, () => host.pass(run, 'message', see('message')));
  await loop.run();
  expect(looks).toEqual([10, 210]);
  expect([...seen].sort()).toEqual(['message at 210', 'sending at 210']);
  expect(clock.nowMs()).toBe(210);
});

test('what strikes between two steps strikes after the one, and before anything it has to say is sent', async () => {
  const { loop, host, run, seen, see } = hostWithRun();
  host.strikeAt({ afterPassages: 2, hit: () => host.crash() });
  for (const atMs of [1, 2, 3]) {
    loop.at(atMs, () =>
      host.pass(run, 'message', () => {
        see('message')();
        if (atMs === 2) host.say(run, see('sending'));
      }),
    );
  }
  await loop.run();
  expect(seen).toEqual(['message at 1', 'message at 2']);
});

test('what was meant for a program that crashed does not reach its successor', async () => {
  const { loop, host, run, clock, seen, see } = hostWithRun();
  clock.after(10, see('timer'));
  host.crash();
  const next = host.boot();
  loop.at(20, () => host.pass(run, 'message', see('message')));
  loop.at(20, () => host.pass(next, 'message', see('message of the next')));
  await loop.run();
  expect(seen).toEqual(['message of the next at 20']);
});
