/** A generator that asks one node of a cluster must ask only about keys of that node: others are answered MOVED, which is no decision. */
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keySlot } from '../resp/key-slot.ts';
import { generate } from './generate.ts';
import { KeyedBytes, withSomeKey } from './keyed-bytes.ts';
import type { LoadOrder } from './load-order.ts';

const seen = new Set<string>();
const server = createServer((socket) => {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    // *3 SLUICE.CHECK rule key: six line ends after the first one belong to the arguments.
    for (let match = whole.exec(text); match !== null; match = whole.exec(text)) {
      seen.add(match[1]!);
      text = text.slice(match[0].length);
      socket.write(':1\r\n');
    }
  });
});
const whole = /^\*3\r\n\$\d+\r\nSLUICE\.CHECK\r\n\$\d+\r\nrule\r\n\$\d+\r\n([^\r]*)\r\n/;

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

const order = (more: Partial<LoadOrder>): LoadOrder => ({
  host: '127.0.0.1',
  port: (server.address() as AddressInfo).port,
  question: { protocol: 'resp', words: ['SLUICE.CHECK', 'rule', 'user:{key}'] },
  connections: 2,
  keys: 400,
  keyOrder: 'sequential',
  loop: { kind: 'closed', inFlightPerConnection: 4, requests: 500 },
  durationMs: 30_000,
  warmUpMs: 0,
  ...more,
});

it.each(['sequential', 'random'] as const)('asks only about keys of the slots it is given, %s', async (keyOrder) => {
  seen.clear();
  const slots = [
    [0, 4000],
    [9000, 9999],
  ] as const;
  const { answered, errors } = await generate(order({ slots, keyOrder }));
  expect([answered, errors]).toEqual([500, 0]);
  expect(seen.size).toBeGreaterThan(50);
  for (const key of seen) {
    const slot = keySlot(Buffer.from(key));
    expect(slot <= 4000 || (slot >= 9000 && slot <= 9999), `${key} is of slot ${slot}`).toBe(true);
  }
});

it('says so when it has no such key, and when the question has no slot', async () => {
  await expect(generate(order({ slots: [], keys: 10 }))).rejects.toThrow('None of 10 keys is of these slots');
  const question = { protocol: 'http', path: '/', body: '{key}' } as const;
  await expect(generate(order({ question, slots: [[0, 5]] }))).rejects.toThrow('Only keys of the Redis protocol');
});

it('gives each request an id of its own where the question has a place for one', () => {
  const bytes = new KeyedBytes(Buffer.from(withSomeKey('id={id} key={key}')));
  const written = Array.from({ length: 100 }, (_, key) => {
    const target = Buffer.alloc(bytes.bytes.length);
    bytes.writeTo(target, 0, key);
    return target.toString('latin1');
  });
  for (const [key, text] of written.entries())
    expect(text).toMatch(new RegExp(`^id=\\d{12} key=${String(key).padStart(12, '0')}$`));
  expect(new Set(written.map((text) => text.slice(0, 15))).size).toBe(100);
});
