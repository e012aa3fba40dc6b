import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, expect, test } from 'vitest';
import { snapshot } from './live.test-support.ts';
import type { Connection } from './watch-service.ts';
import { watchWhileShown } from './watch-while-shown.ts';

class Page extends EventTarget {
  hidden = false;

  hide(hidden: boolean): void {
    this.hidden = hidden;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

/** A server that streams to everybody, or says this status; and a page that watches it. */
async function watched({ isHidden = false, status = (): number => 200 } = {}) {
  const open = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(status(), { 'Content-Type': status() === 200 ? 'text/event-stream' : 'text/plain' });
    if (status() !== 200) return response.end();
    open.add(response);
    response.on('close', () => open.delete(response));
    return response.write(`event: snapshot\ndata: ${JSON.stringify(snapshot(1))}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const page = new Page();
  page.hidden = isHidden;
  const controller = new AbortController();
  const connections: Connection[] = [];
  const ended = watchWhileShown(page, {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/live`,
    token: undefined,
    clock: new TestClock(),
    random: () => 1,
    signal: controller.signal,
    onConnection: (connection) => connections.push(connection),
    onSnapshot: () => {},
  });
  cleanUps.push(() => {
    controller.abort();
    server.closeAllConnections();
    server.close();
  });
  return { page, open, ended, controller, states: () => connections.map(({ state }) => state).join(' ') };
}

test('a page that is hidden holds no connection, and has one again when it is shown', async () => {
  const { page, open, states } = await watched();
  await waitUntil('it is live', () => states() === 'connecting live');
  page.hide(true);
  await waitUntil('the connection is gone', () => open.size === 0);
  expect(states()).toBe('connecting live');
  page.hide(false);
  await waitUntil('it is live again', () => states() === 'connecting live connecting live');
  expect(open.size).toBe(1);
});

test('a page that is opened in the background asks when it is first seen', async () => {
  const { page, states } = await watched({ isHidden: true });
  expect(states()).toBe('');
  page.hide(false);
  await waitUntil('it is live', () => states() === 'connecting live');
});

test('what waits for a person is left as it is, hidden or not', async () => {
  const { page, ended, states } = await watched({ status: () => 401 });
  await ended;
  page.hide(true);
  page.hide(false);
  expect(states()).toBe('connecting unauthorized');
});

test('what was a service before it was hidden is one that is away after it', async () => {
  let status = 200;
  const { page, states } = await watched({ status: () => status });
  await waitUntil('it is live', () => states() === 'connecting live');
  page.hide(true);
  status = 404;
  page.hide(false);
  await waitUntil('it waits', () => states() === 'connecting live connecting waiting');
});

test('ends when nobody wants it any more, shown or hidden', async () => {
  const shown = await watched();
  await waitUntil('it is live', () => shown.states() === 'connecting live');
  shown.controller.abort();
  await shown.ended;
  const hidden = await watched({ isHidden: true });
  hidden.controller.abort();
  await hidden.ended;
});
