/** Input that no client sends. Whatever comes, the door goes on serving the others, and says something sensible or nothing. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { seededRandom } from 'sluice/testing';
import { expect, inject, test } from 'vitest';
import { frame, openDoor, type RawClient, roomyLimits } from './resp-door.test-support.ts';

/** The same numbers in every run, unless PROPERTY_SEED says otherwise: what fails once fails again. */
function randomNumbers(): (below: number) => number {
  const random = seededRandom(inject('propertySeed'));
  return (below) => Math.floor(random() * below);
}

const words = [
  'CL.THROTTLE',
  'SLUICE.CHECK',
  'SLUICE.POLICY',
  'PING',
  'ECHO',
  'HELLO',
  'AUTH',
  'COMMAND',
  'INFO',
  'CLIENT',
];
const more = [
  'CLUSTER',
  'CONFIG',
  'SELECT',
  'RESET',
  'QUIT',
  'GETKEYS',
  'DOCS',
  'LIST',
  'KEYSLOT',
  'REPLICAS',
  'SLUICE.PEER',
  'COST',
  'ID',
  'BURST',
];
const odd = [
  '',
  '\0',
  '\0\0',
  '\r\n',
  '{',
  '{}',
  '}{',
  'größe',
  '\ud83d\ude00',
  '-1',
  '0',
  '1e9',
  '9223372036854775807',
  '-9223372036854775808',
];
const odder = [
  '99999999999999999999',
  'NaN',
  '__proto__',
  'constructor',
  '*'.repeat(300),
  'x'.repeat(2000),
  '\u2028',
  'per-user',
  '60000',
  'gcra',
];
const vocabulary = [...words, ...more, ...odd, ...odder];

function input(random: (below: number) => number): Buffer {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  const bytes = (most: number) => Buffer.from(Array.from({ length: random(most) }, () => random(256)));
  const command = () =>
    frame(
      pick(random(10) < 8 ? words : vocabulary),
      ...Array.from({ length: random(8) }, () => (random(5) === 0 ? bytes(20) : pick(vocabulary))),
    );
  const kinds: (() => Buffer)[] = [
    () => bytes(200),
    command,
    () => Buffer.concat(Array.from({ length: random(20) }, command)),
    // Cut off anywhere.
    () => command().subarray(0, random(60)),
    // One byte is another.
    () => {
      const broken = command();
      broken[random(broken.length)] = random(256);
      return broken;
    },
    // Lengths that cannot be.
    () =>
      Buffer.from(
        `*${pick(['-1', '-99999999999', '0', '1048577', '2147483648', '99999999999999999999', ' 1', '1 ', '+1', '0x1', ''])}\r\n`,
      ),
    () =>
      Buffer.from(
        `*2\r\n$4\r\nECHO\r\n$${pick(['-1', '-5', '536870913', '65537', '4294967296', '99999999999999999999', '', '1e3', '1'])}\r\nab\r\n`,
      ),
    // Arrays in arrays, and replies where commands belong.
    () => Buffer.from('*1\r\n'.repeat(random(3000))),
    () =>
      Buffer.from(
        pick([
          '+OK\r\n',
          '-ERR\r\n',
          ':1\r\n',
          '$3\r\nabc\r\n',
          '%1\r\n',
          '~1\r\n',
          '_\r\n',
          '#t\r\n',
          ',1.5\r\n',
          '(1\r\n',
          '>1\r\n',
          '|1\r\n',
        ]),
      ),
    () =>
      Buffer.from(
        `*2\r\n$4\r\nECHO\r\n${pick([':1\r\n', '+a\r\n', '*1\r\n$1\r\na\r\n', '_\r\n', '%1\r\n', '$\r\n', '\r\n'])}`,
      ),
    // Typed lines.
    () =>
      Buffer.from(
        `${pick(vocabulary)} ${pick(['"', "'", '\\', '"\\x', '"\\xZZ"', '"a"b', '\t\t', '\0', '"\\'])}${pick(vocabulary)}\r\n`,
      ),
    () => Buffer.concat([bytes(50), Buffer.from(pick(['\r\n', '\n', '\r', '']))]),
    () => Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    // Lines without an end.
    () => Buffer.alloc(random(100_000), 'a'),
  ];
  return pick(kinds)();
}

const batches = 150;
const inputsPerBatch = 100;

test(`after each of ${batches} batches of ${inputsPerBatch} senseless inputs another client is served`, async () => {
  const open = await openDoor({ limits: { requestMs: 60_000 } });
  const bystander = await open.client();
  const random = randomNumbers();
  const heapBefore = process.memoryUsage().rss;
  let inputs = 0;
  for (let batch = 0; batch < batches; batch += 1) {
    // Several inputs on one connection, so that the second finds what the first left behind.
    await Promise.all(
      Array.from({ length: inputsPerBatch / 4 }, async () => {
        const pieces = Array.from({ length: 4 }, () => input(random));
        inputs += pieces.length;
        await sendAndLeave(open.port, pieces, random(2) === 0);
      }),
    );
    await mustBeServed(bystander, batch);
  }
  expect(inputs).toBe(batches * inputsPerBatch);
  expect(open.complaints).toEqual([]);
  await waitUntil('all of them are gone', () => open.meter.connections === 1);
  expect(open.meter.malformed).toBeGreaterThan(inputs / 20);
  expect(open.meter.requests).toBeGreaterThan(inputs / 2);
  expect(process.memoryUsage().rss - heapBefore).toBeLessThan(300 * 1024 * 1024);
});

async function mustBeServed(client: RawClient, batch: number): Promise<void> {
  expect(await client.call('ECHO', `after batch ${batch}`)).toBe(`after batch ${batch}`);
  expect(await client.call('CL.THROTTLE', `batch ${batch}`, 15, 30, 60)).toEqual([0, 16, 15, -1, 2]);
}

/** Sends, reads what comes, and ends politely or not. Whatever is answered has to look like the protocol. */
async function sendAndLeave(port: number, pieces: readonly Buffer[], isPolite: boolean): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  // The door may end the connection while we send; that is its right.
  socket.on('error', () => undefined);
  let firstByte: number | undefined;
  socket.on('data', (chunk: Buffer) => {
    firstByte ??= chunk[0];
  });
  await once(socket, 'connect');
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const closed = once(socket, 'close');
  if (isPolite) socket.end();
  else socket.destroy();
  await closed;
  if (firstByte !== undefined) expect('+-:$*_%~='.includes(String.fromCharCode(firstByte))).toBe(true);
}

test('hundreds of clients that announce a large request hold little memory', async () => {
  const open = await openDoor({ limits: { ...roomyLimits, bodyBytes: 16 * 1024 * 1024 } });
  const bystander = await open.client();
  const before = process.memoryUsage().arrayBuffers;
  const clients = await Promise.all(Array.from({ length: 300 }, () => open.client()));
  // The length alone costs nothing: memory follows the bytes that came.
  for (const client of clients) client.send('*2\r\n$4\r\nECHO\r\n$16000000\r\nabc');
  await mustBeServed(bystander, 0);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 1024 * 1024);
});

test('clients that send large requests and never finish them are ended before they fill the memory', async () => {
  const open = await openDoor({ limits: { ...roomyLimits, bodyBytes: 16 * 1024 * 1024 } });
  const bystander = await open.client();
  const clients = await Promise.all(Array.from({ length: 20 }, () => open.client()));
  for (const client of clients) {
    client.send('*2\r\n$4\r\nECHO\r\n$16000000\r\n');
    client.send(Buffer.alloc(15_000_000, 'x'));
  }
  const ended: string[] = [];
  for (const client of clients) client.untilEnd().then((text) => ended.push(text));
  // There is room for four of them; the others end.
  await waitUntil('they are ended', () => ended.length >= 14);
  // Told why, unless they sent so much behind it that they were cut off first.
  const told = '-ERR too many unfinished requests; try again later\r\n';
  expect(ended.filter((text) => text !== told && text !== '')).toEqual([]);
  await mustBeServed(bystander, 0);
});
