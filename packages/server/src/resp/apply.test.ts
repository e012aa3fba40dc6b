/** SLUICE.APPLY as bytes: what goes in, what comes out, and what comes twice. */
import { waitUntil } from '@sluice/test-servers';
import { type Decision, memoryStore } from 'sluice';
import { describe, expect, it, test } from 'vitest';
import { frame, limitingService, openDoor, type Value } from './resp-door.test-support.ts';

const policy = '{"algorithm":"fixed-window","limit":3,"window":3600000,"align":"first"}';
const apply = (id: string, key: string, cost = '1', details = '') =>
  ['SLUICE.APPLY', id, '1', 'name', key, policy, cost, details] as const;

/** What the decisions of a reply have first: allowed, limit, remaining. */
const said = (reply: Value) => (reply as Value[][]).map((decision) => decision.slice(0, 3));

test('a batch is answered with one array for each of its checks', async () => {
  const client = await (await openDoor()).client();
  const both = ['SLUICE.APPLY', '', '2', 'name', 'a', policy, '2', '', 'name', 'b', policy, '1', ''];
  expect(await client.call(...both)).toEqual([
    [1, 3, 1, 0, expect.any(Number)],
    [1, 3, 2, 0, expect.any(Number)],
  ]);
  expect(await client.call(...both)).toEqual([
    [0, 3, 1, expect.any(Number), expect.any(Number)],
    [1, 3, 2, 0, expect.any(Number)],
  ]);
});

test('what there is more to a decision is JSON', async () => {
  const client = await (await openDoor()).client();
  const [reserved] = (await client.call(...apply('', 'a', '2', '{"operation":"reserve"}'))) as unknown[][];
  const { receipt } = JSON.parse(String(reserved?.[5]));
  const settle = JSON.stringify({ operation: 'settle', actual: 0, receipt });
  expect(said(await client.call(...apply('', 'a', '2', settle)))).toEqual([[1, 3, 3]]);
});

test.each([
  [['SLUICE.APPLY', '', '1', 'name', 'key', policy, '1'], "ERR wrong number of arguments for 'sluice.apply' command"],
  [['SLUICE.APPLY', '', '2', ...apply('', 'a').slice(3)], 'ERR arguments must be 5 for each of 2 checks, got 5.'],
  [apply('', 'a', 'much'), 'ERR cost must be a number of 0 or more, got "much".'],
  [apply('', 'a', '1', '{"operation":"steal"}'), /^ERR operation must be one of/],
  [apply('', 'x'.repeat(2000)), /^ERR key must have at most 1024 bytes/],
  [apply('y'.repeat(2000), 'a'), /^ERR request id must have at most 1024 bytes/],
  [['SLUICE.APPLY', '', '1', 'name', Buffer.from([0xff]), policy, '1', ''], /^ERR key must be UTF-8/],
])('%j is refused', async (command, message) => {
  const service = { ...limitingService(), answersAtOnce: true };
  const client = await (await openDoor({ service })).client();
  expect(await client.call(...command)).toMatchObject({ message: expect.stringMatching(message) });
});

test('clients can find its first key', async () => {
  const client = await (await openDoor()).client();
  expect(await client.call('COMMAND', 'GETKEYS', ...apply('id', 'a'))).toEqual(['a']);
});

describe('a command that comes twice', () => {
  it('settles a reservation once, whatever it says was used', async () => {
    const store = memoryStore();
    const service = {
      ...limitingService(),
      answersAtOnce: true,
      apply: (checks: Parameters<typeof store.apply>[0], requestId?: string) =>
        store.apply(checks, undefined, requestId),
    };
    const client = await (await openDoor({ service })).client();
    const [reserved] = (await client.call(...apply('', 'a', '2', '{"operation":"reserve"}'))) as unknown[][];
    const { receipt } = JSON.parse(String(reserved?.[5]));
    const settle = (actual: number) => apply('r', 'a', '2', JSON.stringify({ operation: 'settle', actual, receipt }));
    expect(said(await client.call(...settle(1)))).toEqual([[1, 3, 2]]);
    expect(said(await client.call(...settle(0)))).toEqual([[1, 3, 2]]);
    expect(said(await client.call(...apply('', 'a')))).toEqual([[1, 3, 1]]);
  });

  it('is answered by the door where the service answers at once', async () => {
    const store = memoryStore();
    let asked = 0;
    const service = {
      ...limitingService(),
      answersAtOnce: true,
      apply(...[checks]: Parameters<ReturnType<typeof limitingService>['apply']>) {
        asked += 1;
        return store.apply(checks);
      },
    };
    const { client: connect } = await openDoor({ service });
    const [one, another] = [await connect(), await connect()];
    const first = await one.call(...apply('id', 'a'));
    expect(await another.call(...apply('id', 'a'))).toEqual(first);
    expect(said(await another.call(...apply('id', 'a', '2')))).toEqual([[1, 3, 0]]);
    expect(said(await one.call(...apply('', 'b')))).toEqual([[1, 3, 2]]);
    expect(said(await one.call(...apply('', 'b')))).toEqual([[1, 3, 1]]);
    expect(asked).toBe(4);
  });

  it('waits for the answer that is under way, and is answered the same afterwards', async () => {
    const store = memoryStore();
    const release: (() => void)[] = [];
    const service = {
      ...limitingService(),
      answersAtOnce: true,
      async apply(...[checks]: Parameters<ReturnType<typeof limitingService>['apply']>): Promise<Decision[]> {
        await new Promise<void>((resolve) => release.push(resolve));
        return store.apply(checks);
      },
    };
    const { client: connect } = await openDoor({ service });
    const client = await connect();
    client.send(Buffer.concat([frame(...apply('id', 'a')), frame(...apply('id', 'a'))]));
    await waitUntil('the service is asked', () => release.length === 1);
    release[0]?.();
    const first = await client.reply();
    expect(await client.reply()).toEqual(first);
    expect(await client.call(...apply('id', 'a'))).toEqual(first);
    expect(release).toHaveLength(1);
  });

  it('is known to a service that asks others by its id', async () => {
    const ids: (string | undefined)[] = [];
    const service = {
      ...limitingService(),
      apply(...[checks, id]: Parameters<ReturnType<typeof limitingService>['apply']>) {
        ids.push(id);
        return limitingService().apply(checks, id);
      },
    };
    const client = await (await openDoor({ service })).client();
    await client.call(...apply('id', 'a'));
    await client.call(...apply('id', 'a'));
    await client.call(...apply('', 'a'));
    expect(ids).toEqual(['id', 'id', undefined]);
  });
});
