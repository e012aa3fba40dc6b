import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { waitUntil } from '@sluice/test-servers';
import { SluiceError } from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import { beginning, frame, HeldService, limitingService, openDoor, RawClient } from './resp-door.test-support.ts';

describe('CL.THROTTLE', () => {
  test('replies as redis-cell does: limited, limit, remaining, retry after, reset after', async () => {
    const clock = new TestClock(1_000_000);
    const client = await (await openDoor({ clock })).client();
    const rows: [atMs: number, quantity: number | undefined, reply: number[]][] = [
      [0, 6, [1, 5, 5, -1, 0]], // more than the bucket holds: never
      [0, undefined, [0, 5, 4, -1, 1]],
      [0, 4, [0, 5, 0, -1, 5]],
      [0, 1, [1, 5, 0, 1, 5]],
      [3000, 1, [0, 5, 2, -1, 3]],
      [3100, 0, [0, 5, 2, -1, 3]],
    ];
    for (const [atMs, quantity, reply] of rows) {
      clock.set(1_000_000 + atMs);
      const numbers = quantity === undefined ? [4, 1, 1] : [4, 1, 1, quantity];
      expect([atMs, quantity, await client.call('cl.throttle', 'foo', ...numbers)]).toEqual([atMs, quantity, reply]);
    }
  });

  test.each([
    [['k'], 'Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]'],
    [['k', 1, 1, 1, 1, 1], 'Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]'],
    [['k', 'x', 1, 1], "Cell error: Couldn't parse as integer: x"],
    [['k', 1, '1.0', 1], "Cell error: Couldn't parse as integer: 1.0"],
    [['k', 1, 1, ''], "Cell error: Couldn't parse as integer: "],
    [['k', 1, 1, 1, ' 1'], "Cell error: Couldn't parse as integer:  1"],
    [['k', 1, 1, '-'], "Cell error: Couldn't parse as integer: -"],
    [['k', '9223372036854775808', 1, 1], "Cell error: Couldn't parse as integer: 9223372036854775808"],
    [['k', 1, 0, 1], 'Cell error: Zero rates are not supported'],
    [['k', 1, 1, 0], 'Cell error: Zero rates are not supported'],
  ])('with %j is an error as redis-cell words it', async (args, message) => {
    const client = await (await openDoor()).client();
    expect(await client.call('CL.THROTTLE', ...args)).toEqual(new Error(message));
    expect(await client.call('CL.THROTTLE', 'k', '+1', '0000000000000000001', 1)).toEqual([0, 2, 1, -1, 1]);
  });

  test('takes any bytes as a key, and tells them apart', async () => {
    const client = await (await openDoor()).client();
    const keys = [Buffer.from([0]), Buffer.from([0, 0]), Buffer.from([0xff]), Buffer.from([0xfe]), Buffer.from('ключ')];
    for (const key of keys) expect(await client.call('CL.THROTTLE', key, 0, 1, 60)).toEqual([0, 1, 0, -1, 60]);
    for (const key of keys) expect(beginning(await client.call('CL.THROTTLE', key, 0, 1, 60), 3)).toEqual([1, 1, 0]);
  });

  test('refuses a key that is longer than limits.keyBytes, and goes on', async () => {
    const client = await (await openDoor({ limits: { keyBytes: 8 } })).client();
    expect(await client.call('CL.THROTTLE', '123456789', 1, 1, 1)).toEqual(
      new Error('ERR key must have at most 8 bytes (limits.keyBytes), got 9. Send a digest of it.'),
    );
    expect(await client.call('CL.THROTTLE', '12345678', 1, 1, 1)).toEqual([0, 2, 1, -1, 1]);
  });
});

describe('SLUICE.CHECK and SLUICE.POLICY', () => {
  test('reply allowed, limit, remaining, retryAfterMs, resetAfterMs and the rule', async () => {
    const clock = new TestClock(0);
    const client = await (await openDoor({ clock })).client();
    expect(await client.call('SLUICE.CHECK', 'per-user', '42')).toEqual([1, 3, 2, 0, 60_000, 'per-user']);
    expect(await client.call('sluice.check', 'per-user', '42', 'cost', 2)).toEqual([1, 3, 0, 0, 60_000, 'per-user']);
    clock.advance(10_000);
    expect(await client.call('SLUICE.CHECK', 'per-user', '42')).toEqual([0, 3, 0, 50_000, 50_000, 'per-user']);
    // Waiting never helps.
    expect(await client.call('SLUICE.CHECK', 'per-user', '43', 'COST', 4)).toEqual([0, 3, 3, -1, 0, 'per-user']);

    const policy = ['gcra', 60, 60_000];
    expect(beginning(await client.call('SLUICE.POLICY', 'k', ...policy), 5)).toEqual([1, 60, 59, 0, 1000]);
    expect(beginning(await client.call('SLUICE.POLICY', 'k', ...policy, 'COST', 59), 5)).toEqual([1, 60, 0, 0, 60_000]);
    expect(beginning(await client.call('SLUICE.POLICY', 'k', ...policy), 5)).toEqual([0, 60, 0, 1000, 60_000]);
    expect(beginning(await client.call('SLUICE.POLICY', 'k', ...policy, 'BURST', 5, 'COST', 1), 4)).toEqual([
      1, 5, 4, 0,
    ]);
  });

  test('a request that is sent again with its ID is answered as before, and not counted twice', async () => {
    const client = await (await openDoor()).client();
    const first = await client.call('SLUICE.CHECK', 'per-user', '42', 'ID', 'request-1');
    expect(beginning(first, 3)).toEqual([1, 3, 2]);
    expect(beginning(await client.call('SLUICE.CHECK', 'per-user', '42', 'ID', 'request-1'), 3)).toEqual([1, 3, 2]);
    expect(beginning(await client.call('SLUICE.CHECK', 'per-user', '42', 'ID', 'request-2', 'COST', 2), 3)).toEqual([
      1, 3, 0,
    ]);
  });

  test.each([
    [['SLUICE.CHECK', 'per-user'], "ERR wrong number of arguments for 'sluice.check' command"],
    [['SLUICE.CHECK', 'per-user', 'k', 'COST'], 'ERR syntax error'],
    [['SLUICE.CHECK', 'per-user', 'k', 'PRICE', 1], 'ERR syntax error'],
    [['SLUICE.CHECK', 'per-user', 'k', 'COST', 'x'], "ERR COST must be a number, got 'x'"],
    [['SLUICE.CHECK', 'per-user', Buffer.from([0xff])], 'ERR key must be UTF-8. CL.THROTTLE takes any bytes.'],
    [['SLUICE.POLICY', 'k', 'gcra', 1], "ERR wrong number of arguments for 'sluice.policy' command"],
    [['SLUICE.POLICY', 'k', 'gcra', 1, '1m'], "ERR windowMs must be a whole number of milliseconds, got '1m'"],
    [['SLUICE.POLICY', 'k', 'gcra', 1, 1000, 'BURST'], 'ERR syntax error'],
  ])('%j is an error', async (command, message) => {
    const client = await (await openDoor()).client();
    expect(await client.call(...command)).toEqual(new Error(message));
  });

  test('what the library refuses is an error that says why', async () => {
    const client = await (await openDoor()).client();
    const refused = async (...command: (string | number)[]) => ((await client.call(...command)) as Error).message;
    expect(await refused('SLUICE.CHECK', 'nobody', 'k')).toMatch(/^ERR .*nobody/);
    expect(await refused('SLUICE.CHECK', 'per-user', 'k', 'COST', -1)).toMatch(/^ERR cost must be .* got -1/);
    expect(await refused('SLUICE.POLICY', 'k', 'magic', 1, 1000)).toMatch(/^ERR algorithm must be one of .*"magic"/);
    expect(await refused('SLUICE.POLICY', 'k', 'gcra', 0, 1000)).toMatch(/^ERR limit must be .* got 0\.$/);
  });

  test('a store that cannot answer is UNAVAILABLE; what nobody expected is in the log and not in the reply', async () => {
    const service = limitingService();
    const { client, complaints } = await openDoor({
      service: {
        ...service,
        checkRule: () => Promise.reject(new SluiceError('store-unavailable', 'no answer within 20 ms')),
        checkPolicy: () => {
          throw new TypeError('secret');
        },
      },
    });
    const connection = await client();
    expect(await connection.call('SLUICE.CHECK', 'r', 'k')).toEqual(new Error('UNAVAILABLE no answer within 20 ms'));
    expect(complaints).toEqual([]);
    expect(await connection.call('SLUICE.POLICY', 'k', 'gcra', 1, 1)).toEqual(
      new Error('ERR internal error; the log of the server says more'),
    );
    expect(complaints).toMatchObject([{ err: { message: 'secret' }, command: 'sluice.policy' }]);
  });
});

describe('order', () => {
  test('replies come in the order of their commands, in whatever order the answers do', async () => {
    const service = new HeldService();
    const { client } = await openDoor({ service });
    const connection = await client();
    connection.send(
      Buffer.concat([
        frame('ECHO', 'first'),
        frame('CL.THROTTLE', 'a', 9, 1, 1),
        frame('ECHO', 'second'),
        frame('SLUICE.CHECK', 'burst', 'k'),
        frame('CL.THROTTLE', 'b', 'x', 1, 1),
        frame('SLUICE.POLICY', 'k', 'gcra', 7, 1000),
        frame('ECHO', 'last'),
      ]),
    );
    expect(await connection.reply()).toBe('first');
    await waitUntil('all three are asked at once', () => service.held.length === 3);
    for (const release of service.held.reverse()) release();
    expect(await connection.reply()).toEqual([0, 10, 9, -1, 1]);
    expect(await connection.reply()).toBe('second');
    expect(beginning(await connection.reply(), 3)).toEqual([1, 10, 9]);
    expect(await connection.reply()).toEqual(new Error("Cell error: Couldn't parse as integer: x"));
    expect(beginning(await connection.reply(), 3)).toEqual([1, 7, 6]);
    expect(await connection.reply()).toBe('last');
  });

  test('no more than limits.pipelineDepth commands of a connection are under way, and all are answered', async () => {
    const service = new HeldService();
    const { client } = await openDoor({ service, limits: { pipelineDepth: 5 } });
    const connection = await client();
    const commands = Array.from({ length: 1000 }, (_, i) => frame('CL.THROTTLE', `key ${i}`, i, 1, 1));
    connection.send(Buffer.concat(commands));
    let most = 0;
    for (let i = 0; i < commands.length; i += 1) {
      await waitUntil('the next is asked', () => service.held.length > 0, { everyMs: 0 });
      most = Math.max(most, service.held.length);
      service.held.shift()!();
      expect(beginning(await connection.reply(), 3)).toEqual([0, i + 1, i]);
    }
    expect(most).toBe(5);
    expect(await connection.call('PING')).toBe('PONG');
  });

  test('commands that arrive byte by byte are answered as those that come at once', async () => {
    const { client } = await openDoor();
    const connection = await client();
    const pipeline = Buffer.concat([
      frame('ECHO', 'a\r\nb'),
      Buffer.from('ECHO "x y"\r\n'),
      frame('CL.THROTTLE', 'k', 1, 1, 1),
      frame('ECHO', 'z'.repeat(300)),
    ]);
    for (const byte of pipeline) {
      connection.send(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await connection.reply()).toBe('a\r\nb');
    expect(await connection.reply()).toBe('x y');
    expect(await connection.reply()).toEqual([0, 2, 1, -1, 1]);
    expect(await connection.reply()).toBe('z'.repeat(300));
  });

  test('a large pipeline is answered whole, and one write answers one read', async () => {
    const { client, meter } = await openDoor();
    const connection = await client();
    const count = 20_000;
    connection.send(Buffer.concat(Array.from({ length: count }, (_, i) => frame('ECHO', i))));
    for (let i = 0; i < count; i += 1) expect(await connection.reply()).toBe(String(i));
    expect(meter.requests).toBe(count);

    let reads = 0;
    connection.socket.on('data', () => {
      reads += 1;
    });
    connection.send(Buffer.concat(Array.from({ length: 50 }, () => frame('PING'))));
    for (let i = 0; i < 50; i += 1) expect(await connection.reply()).toBe('PONG');
    expect(reads).toBe(1);
  });
});

describe('a pipeline of CL.THROTTLE', () => {
  test('is answered command by command as if each had come alone, also where only the key is another', async () => {
    const commands = [
      ['a', 1, 1, 60],
      ['b', 1, 1, 60],
      ['a', 1, 1, 60],
      ['a', 1, 1, 60],
      ['a', 4, 1, 60],
      ['b', 4, 1, 60],
      ['b', 4, 1, 60, 3],
      ['c', 4, 1, 60, 3],
      ['b', 4, 1, 60],
      ['a', 4, 'x', 60],
      ['b', 4, 'x', 60],
      ['b', 4, 0, 60],
      ['c', 4, 0, 60],
      ['123456789', 4, 1, 60],
      ['d', 4, 1, 60],
      ['123456789', 4, 1, 60],
      ['d', 4, 1, 60],
    ];
    const answers = async (together: number) => {
      const { client } = await openDoor({ limits: { keyBytes: 8 }, service: limitingService(new TestClock(0)) });
      const connection = await client();
      const replies = [];
      for (let at = 0; at < commands.length; at += together) {
        const some = commands.slice(at, at + together);
        connection.send(Buffer.concat(some.map((command) => frame('CL.THROTTLE', ...command))));
        for (const _ of some) replies.push(await connection.reply());
      }
      return replies;
    };
    const alone = await answers(1);
    expect(alone.slice(0, 4)).toEqual([
      [0, 2, 1, -1, 60],
      [0, 2, 1, -1, 60],
      [0, 2, 0, -1, 120],
      [1, 2, 0, 60, 120],
    ]);
    for (const together of [2, 3, 5, commands.length]) expect(await answers(together)).toEqual(alone);
  });

  test('that nobody may send yet teaches nothing', async () => {
    const { client } = await openDoor({ tokens: ['secret'] });
    const [stranger, friend] = [await client(), await client()];
    await friend.call('AUTH', 'secret');
    expect(await friend.call('CL.THROTTLE', 'k', 9, 1, 1)).toEqual([0, 10, 9, -1, 1]);
    const twice = Buffer.concat([frame('CL.THROTTLE', 'a', 1, 1, 1), frame('CL.THROTTLE', 'b', 1, 1, 1)]);
    for (const connection of [stranger, friend]) connection.send(twice);
    const noAuthentication = new Error('NOAUTH Authentication required.');
    expect([await stranger.reply(), await stranger.reply()]).toEqual([noAuthentication, noAuthentication]);
    expect([await friend.reply(), await friend.reply()]).toEqual([
      [0, 2, 1, -1, 1],
      [0, 2, 1, -1, 1],
    ]);
  });
});

describe('a malformed request', () => {
  test.each([
    ['*1\r\n!4\r\n', "-ERR Protocol error: expected '$', got '!'\r\n"],
    ['*3000\r\n', '-ERR Protocol error: invalid multibulk length\r\n'],
    ['*1\r\n$999999\r\n', '-ERR Protocol error: invalid bulk length\r\n'],
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', '-ERR Protocol error: this port speaks the protocol of Redis, not HTTP\r\n'],
  ])('%j ends its own connection, behind the replies before it, and no other', async (bytes, error) => {
    const { client, meter } = await openDoor();
    const [bystander, connection] = [await client(), await client()];
    connection.send(Buffer.concat([frame('PING'), Buffer.from(bytes), frame('PING')]));
    expect(await connection.untilEnd()).toBe(`+PONG\r\n${error}`);
    expect(await bystander.call('PING')).toBe('PONG');
    expect(meter).toMatchObject({ malformed: 1, requests: 2 });
    await waitUntil('it is closed on our side, too', () => meter.connections === 1);
  });

  test('waits for the answers that are under way', async () => {
    const service = new HeldService();
    const { client } = await openDoor({ service });
    const connection = await client();
    connection.send(Buffer.concat([frame('CL.THROTTLE', 'k', 1, 1, 1), Buffer.from('*x\r\n')]));
    await waitUntil('it is asked', () => service.held.length === 1);
    service.held[0]!();
    expect(await connection.untilEnd()).toBe(
      '*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n-ERR Protocol error: invalid multibulk length\r\n',
    );
  });

  test('an unknown command is told what it began with, and the connection goes on', async () => {
    const connection = await (await openDoor()).client();
    expect(await connection.call('GET', 'a', 'b\r\nc')).toEqual(
      new Error("ERR unknown command 'GET', with args beginning with: 'a' 'b  c' "),
    );
    expect(((await connection.call('x'.repeat(500), 'y'.repeat(500))) as Error).message.length).toBeLessThan(350);
    expect(await connection.call('PING')).toBe('PONG');
  });
});

describe('tokens', () => {
  const noAuthentication = new Error('NOAUTH Authentication required.');
  const wrongPassword = new Error('WRONGPASS invalid username-password pair or user is disabled.');

  test('nothing is answered before AUTH with one of them', async () => {
    const { client, meter } = await openDoor({ tokens: ['first token', 'second token'] });
    const connection = await client();
    expect(await connection.call('PING')).toEqual(noAuthentication);
    expect(await connection.call('CL.THROTTLE', 'k', 1, 1, 1)).toEqual(noAuthentication);
    expect(await connection.call('NOSUCH')).toEqual(noAuthentication);
    expect(((await connection.call('HELLO', 3)) as Error).message).toMatch(/^NOAUTH HELLO must be called with/);
    expect(await connection.call('AUTH', 'first token ')).toEqual(wrongPassword);
    expect(await connection.call('AUTH', '')).toEqual(wrongPassword);
    expect(await connection.call('AUTH', 'somebody', 'first token')).toEqual(wrongPassword);
    expect(meter.unauthorized).toBe(7);
    expect(await connection.call('AUTH', 'second token')).toBe('OK');
    expect(await connection.call('PING')).toBe('PONG');
    expect(await connection.call('RESET')).toBe('RESET');
    expect(await connection.call('PING')).toEqual(noAuthentication);
    expect(await connection.call('AUTH', 'default', 'first token')).toBe('OK');
    expect(await connection.call('PING')).toBe('PONG');
    const another = await client();
    expect(await another.call('HELLO', 3, 'AUTH', 'default', 'wrong')).toEqual(wrongPassword);
    // A command that is wrong changes nothing, whatever it says before.
    expect(await another.call('HELLO', 3, 'AUTH', 'default', 'first token', 'BOGUS')).toEqual(
      new Error("ERR Syntax error in HELLO option 'BOGUS'"),
    );
    expect(await another.call('PING')).toEqual(noAuthentication);
    expect(await another.call('HELLO', 3, 'AUTH', 'default', 'first token', 'SETNAME', 'me')).toBeInstanceOf(Map);
    expect(await another.call('CLIENT', 'GETNAME')).toBe('me');
  });

  test('who has shown none cannot make the server hold much', async () => {
    const { client } = await openDoor({ tokens: ['token'] });
    const [long, many] = [await client(), await client()];
    long.send('*2\r\n$4\r\nAUTH\r\n$16385\r\n');
    expect(await long.untilEnd()).toBe('-ERR Protocol error: invalid bulk length\r\n');
    many.send('*11\r\n');
    expect(await many.untilEnd()).toBe('-ERR Protocol error: invalid multibulk length\r\n');
  });

  test('AUTH without tokens is told that there are none', async () => {
    const connection = await (await openDoor()).client();
    expect(((await connection.call('AUTH', 'x')) as Error).message).toMatch(/^ERR AUTH <password> called without any/);
  });
});

describe('limits', () => {
  test('a connection too many is told so and closed, and there is room again when another leaves', async () => {
    const { client, meter } = await openDoor({ limits: { connections: 2 } });
    const [first, second] = [await client(), await client()];
    await first.call('PING');
    await second.call('PING');
    expect(await (await client()).untilEnd()).toBe('-ERR max number of clients reached\r\n');
    expect(meter).toMatchObject({ connections: 2, refusedConnections: 1 });
    first.socket.destroy();
    await waitUntil('one has left', () => meter.connections === 1);
    expect(await (await client()).call('PING')).toBe('PONG');
  });

  test('an idle connection is closed, one that asks is not', async () => {
    const clock = new TestClock(0);
    const { client, meter } = await openDoor({ clock, limits: { idleMs: 10_000 } });
    const [idle, busy] = [await client(), await client()];
    expect(await idle.call('PING')).toBe('PONG');
    for (let ms = 0; ms < 10_500; ms += 500) {
      clock.advance(500);
      expect(await busy.call('PING')).toBe('PONG');
    }
    expect(await idle.untilEnd()).toBe('');
    expect(meter.timedOut).toBe(1);
    expect(await busy.call('PING')).toBe('PONG');
  });

  test('a time-out never comes early, wherever it began between two looks at the clock', async () => {
    const clock = new TestClock(0);
    const { client, meter } = await openDoor({ clock, limits: { requestMs: 400, idleMs: 600 } });
    const other = await client();
    const pass = async (ms: number) => {
      const endMs = clock.now() + ms;
      // Answered behind what was sent before, so that has been read.
      for (; clock.now() < endMs; clock.advance(10)) expect(await other.call('PING')).toBe('PONG');
    };
    for (const laterMs of [240, 490]) {
      await pass(laterMs);
      const slow = await client();
      slow.send('*1\r\n$4\r\nPI');
      await pass(400);
      slow.send('NG\r\n');
      expect(await slow.reply()).toBe('PONG');
      await pass(600);
      expect(await slow.call('PING')).toBe('PONG');
      expect(meter.timedOut).toBe(0);
      slow.socket.destroy();
      await waitUntil('it has left', () => meter.connections === 1);
    }
  });

  test('a request that does not become whole in time is told so and closed, however busy it looks', async () => {
    const clock = new TestClock(0);
    const { client, meter } = await openDoor({ clock, limits: { requestMs: 3000 } });
    const [slow, other] = [await client(), await client()];
    slow.send('*2\r\n$4\r\nECHO\r\n$100\r\n');
    for (let ms = 0; ms < 3500; ms += 500) {
      slow.send('x');
      // Answered behind it, so it has been read.
      expect(await other.call('PING')).toBe('PONG');
      clock.advance(500);
    }
    expect(await slow.untilEnd()).toBe('-ERR Protocol error: the request was not complete within 3000 ms\r\n');
    expect(meter.timedOut).toBe(1);
    expect(await other.call('PING')).toBe('PONG');
  });

  test('a client that does not read is not read from, and is closed when that lasts', async () => {
    const clock = new TestClock(0);
    const { client, meter } = await openDoor({ clock, limits: { requestMs: 3000 } });
    const [deaf, other] = [await client(), await client()];
    deaf.socket.pause();
    const commands = Buffer.concat(Array.from({ length: 1000 }, () => frame('ECHO', 'x'.repeat(10_000))));
    for (let i = 0; i < 10; i += 1) deaf.send(commands);
    // Each round makes sure that what came in has been read.
    let before = -1;
    while (meter.requests !== before) {
      before = meter.requests;
      for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(meter.requests).toBeLessThan(10_000);
    expect(await other.call('PING')).toBe('PONG');
    for (let ms = 0; ms < 4000; ms += 500) {
      clock.advance(500);
      await other.call('PING');
    }
    expect(meter).toMatchObject({ timedOut: 1, connections: 1 });
  });

  test('a client that reads slowly gets everything', async () => {
    const { client } = await openDoor();
    const connection = await client();
    connection.socket.pause();
    const count = 1000;
    for (let i = 0; i < count; i += 1) connection.send(frame('ECHO', `${i} ${'x'.repeat(20_000)}`));
    await new Promise((resolve) => setTimeout(resolve, 50));
    connection.socket.resume();
    for (let i = 0; i < count; i += 1) expect(await connection.reply()).toBe(`${i} ${'x'.repeat(20_000)}`);
  });
});

describe('drain', () => {
  test('finishes what was begun, closes idle connections and takes no new ones', async () => {
    const service = new HeldService();
    const { door, port, client } = await openDoor({ service });
    const [idle, asking, halfway] = [await client(), await client(), await client()];
    await idle.call('PING');
    await halfway.call('PING');
    asking.send(frame('CL.THROTTLE', 'k', 1, 1, 1));
    halfway.send('*2\r\n$4\r\nECHO\r\n$5\r\nhel');
    await waitUntil('it is asked', () => service.held.length === 1);
    await idle.call('PING');
    const drained = door.drain(60_000);
    expect(await idle.untilEnd()).toBe('');
    await expect(client()).rejects.toThrow(`connect ECONNREFUSED 127.0.0.1:${port}`);
    halfway.send('lo\r\n');
    expect(await halfway.reply()).toBe('hello');
    service.held[0]!();
    expect(await asking.reply()).toEqual([0, 2, 1, -1, 1]);
    expect(await asking.untilEnd()).toBe('');
    await drained;
  });

  test('waits no longer than it is told', async () => {
    const { door, client, meter } = await openDoor({ service: new HeldService() });
    const connection = await client();
    connection.send(frame('CL.THROTTLE', 'k', 1, 1, 1));
    await waitUntil('it is being answered', () => meter.requests === 1);
    await door.drain(20);
    expect(await connection.untilEnd()).toBe('');
    await waitUntil('it is gone', () => meter.connections === 0);
  });
});

describe('a client that has closed its half', () => {
  const throttle = (key: string) => frame('CL.THROTTLE', key, 1, 1, 1);
  const reply = '*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n';

  async function halfOpen(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  test('gets the answers that come later, and then the end', async () => {
    const service = new HeldService();
    const { port, meter } = await openDoor({ service });
    const connection = await halfOpen(port);
    connection.socket.end(Buffer.concat([throttle('a'), frame('PING'), throttle('b'), Buffer.from('*2\r\n$4\r\nEC')]));
    await waitUntil('both are asked', () => service.held.length === 2);
    service.held[0]!();
    expect(await connection.reply()).toEqual([0, 2, 1, -1, 1]);
    expect(await connection.reply()).toBe('PONG');
    expect(meter.connections).toBe(1);
    service.held[1]!();
    expect(await connection.untilEnd()).toBe(reply);
    await waitUntil('it is closed on our side, too', () => meter.connections === 0);
  });

  test('gets all of a pipeline that is deeper than is asked at once', async () => {
    const service = new HeldService();
    const { port, meter } = await openDoor({ service, limits: { pipelineDepth: 2 } });
    const connection = await halfOpen(port);
    const keys = ['a', 'b', 'c', 'd', 'e'];
    connection.socket.end(Buffer.concat([...keys.map(throttle), Buffer.from('*1\r\n')]));
    for (const _ of keys) {
      await waitUntil('the next is asked', () => service.held.length > 0, { everyMs: 0 });
      // Meanwhile the end has been read.
      await new Promise((resolve) => setTimeout(resolve, 5));
      service.held.shift()!();
    }
    expect(await connection.untilEnd()).toBe(reply.repeat(keys.length));
    await waitUntil('it is closed on our side, too', () => meter.connections === 0);
  });

  test.each([
    ['nothing', '', ''],
    ['a command', 'PING\r\n', '+PONG\r\n'],
    ['the beginning of a command', '*2\r\n$4\r\nECHO\r\n', ''],
  ])('is let go at once when it sent %s', async (_, sent, answer) => {
    const { port, meter } = await openDoor();
    const connection = await halfOpen(port);
    await waitUntil('it is open', () => meter.connections === 1);
    connection.socket.end(sent);
    expect(await connection.untilEnd()).toBe(answer);
    await waitUntil('it is closed on our side, too', () => meter.connections === 0);
    expect(meter).toMatchObject({ timedOut: 0, malformed: 0 });
  });

  test('is let go when its answers take too long: it may have left', async () => {
    const clock = new TestClock(0);
    const { port, meter, client } = await openDoor({ service: new HeldService(), clock, limits: { requestMs: 3000 } });
    const other = await client();
    const connection = await halfOpen(port);
    connection.socket.end(throttle('a'));
    await waitUntil('it is asked', () => meter.requests === 1);
    for (let ms = 0; ms < 2500; ms += 500) {
      await clock.advance(500);
      expect(await other.call('PING')).toBe('PONG');
    }
    expect(meter.connections).toBe(2);
    await waitUntil('it is gone', async () => {
      await clock.advance(500);
      return meter.connections === 1;
    });
    expect(await connection.untilEnd()).toBe('');
  });

  test('is answered through TLS as well, and let go at once before it spoke TLS', async () => {
    const { ca, server } = await makeCertificates();
    const service = new HeldService();
    const { port, meter } = await openDoor({ service, tls: { ...server, ca: undefined } });
    const socket = connectTls({ port, host: '127.0.0.1', ca, servername: 'localhost', allowHalfOpen: true } as object);
    onTestFinished(() => void socket.destroy());
    const connection = new RawClient(socket);
    await once(socket, 'secureConnect');
    socket.end(throttle('a'));
    await waitUntil('it is asked', () => service.held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    service.held[0]!();
    expect(await connection.untilEnd()).toBe(reply);
    await waitUntil('it is closed on our side, too', () => meter.connections === 0);
    const mute = await halfOpen(port);
    mute.socket.end();
    expect(await mute.untilEnd()).toBe('');
    await waitUntil('it is gone', () => meter.connections === 0);
  });
});

test('a client that breaks off leaves nothing behind, also while its answers are under way', async () => {
  const service = new HeldService();
  const { client, meter, complaints } = await openDoor({ service });
  const [leaving, staying] = [await client(), await client()];
  leaving.send(frame('CL.THROTTLE', 'k', 1, 1, 1));
  await waitUntil('it is asked', () => service.held.length === 1);
  leaving.socket.resetAndDestroy();
  await waitUntil('it is gone', () => meter.connections === 1);
  service.held[0]!();
  expect(await staying.call('PING')).toBe('PONG');
  expect(complaints).toEqual([]);
});

test('QUIT answers and ends, and what follows it is not answered', async () => {
  const connection = await (await openDoor()).client();
  connection.send(Buffer.concat([frame('PING'), frame('QUIT'), frame('PING')]));
  expect(await connection.untilEnd()).toBe('+PONG\r\n+OK\r\n');
  if (!connection.socket.destroyed) await once(connection.socket, 'close');
});
