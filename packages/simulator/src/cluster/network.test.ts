import { expect, test } from 'vitest';
import { eventLoop } from '../events.ts';
import { fairWeather, Network, type Weather } from './network.ts';

const envelope = { from: 'a', to: 'b', what: 'check', content: undefined };

function networkIn(weather: Partial<Weather> = {}) {
  const loop = eventLoop({ seed: 5 });
  const network = new Network(loop, loop.random.fork(), { ...fairWeather, ...weather });
  const arrivals: { sent: number; atMs: number }[] = [];
  const send = (sent: number) => network.send(envelope, () => arrivals.push({ sent, atMs: loop.nowMs }));
  return { loop, network, arrivals, send };
}

test('messages are late, overtake each other and get lost, as the weather has it; none arrives twice', async () => {
  const { loop, arrivals, send } = networkIn({
    slowShare: 0.1,
    slowMs: 20,
    strayShare: 0.01,
    strayMs: 500,
    lossShare: 0.1,
  });
  for (let i = 0; i < 2000; i += 1) loop.at(i, () => send(i));
  await loop.run();
  const order = arrivals.map(({ sent }) => sent);
  expect(new Set(order).size).toBe(order.length);
  expect(order.length).toBeGreaterThan(1700);
  expect(order.length).toBeLessThan(1900);
  expect(order).not.toEqual([...order].sort((a, b) => a - b));
  const lateMs = arrivals.map(({ sent, atMs }) => atMs - sent).sort((a, b) => a - b);
  expect(lateMs[Math.floor(lateMs.length / 2)]).toBeLessThan(1);
  expect(lateMs.at(-1)).toBeGreaterThan(200);
});

test('what is hindered is lost or late, and comes as always once that is over', async () => {
  const { loop, network, arrivals, send } = networkIn();
  const hindrance = () => (arrivals.length === 0 ? 50 : ('lost' as const));
  network.hindrances.add(hindrance);
  send(1);
  await loop.run();
  expect(arrivals).toEqual([{ sent: 1, atMs: 50 }]);
  send(2);
  await loop.run();
  network.hindrances.delete(hindrance);
  send(3);
  await loop.run();
  expect(arrivals.map(({ sent }) => sent)).toEqual([1, 3]);
});

test('what has an echo arrives twice', async () => {
  const { loop, network, arrivals, send } = networkIn();
  network.echo = ({ what }) => (what === 'check' ? 30 : undefined);
  send(1);
  await loop.run();
  expect(arrivals.map(({ sent }) => sent)).toEqual([1, 1]);
  expect(arrivals[1]!.atMs - arrivals[0]!.atMs).toBeCloseTo(30);
});

test('what is sent into a cut is lost, or arrives when it has healed; the other direction is not cut', async () => {
  const { loop, network, arrivals, send } = networkIn();
  const heal = network.cut('a', 'b');
  for (let i = 0; i < 100; i += 1) send(i);
  let isAnswered = false;
  network.send({ ...envelope, from: 'b', to: 'a' }, () => {
    isAnswered = true;
  });
  await loop.run(100);
  expect([arrivals.length, isAnswered]).toEqual([0, true]);
  heal();
  await loop.run();
  expect(arrivals.length).toBeGreaterThan(30);
  expect(arrivals.length).toBeLessThan(70);
});

test('a link is whole when the last of its cuts has healed', async () => {
  const { loop, network, arrivals, send } = networkIn();
  const heals = [network.cut('a', 'b'), network.cut('a', 'b')];
  heals[0]!();
  heals[0]!();
  for (let i = 0; i < 20; i += 1) send(i);
  await loop.run(100);
  expect(arrivals).toEqual([]);
  heals[1]!();
  send(20);
  await loop.run();
  expect(arrivals.at(-1)?.sent).toBeDefined();
  expect(arrivals.some(({ sent }) => sent === 20)).toBe(true);
});
