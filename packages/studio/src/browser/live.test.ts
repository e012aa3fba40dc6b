/** The live view on real services with real traffic: what it shows, what can be asked and changed, and what becomes of it when the service goes away. */
import {
  reservePort,
  startGateway,
  startSluice,
  startSluiceCluster,
  startUpstream,
  waitUntil,
} from '@sluice/test-servers';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.test-support.ts';
import { layoutProblems } from './layout.test-support.ts';
import { useStudio } from './studio.test-support.ts';

const rules = `
rules:
  - { name: per-user, key: user, algorithm: sliding-log, limit: 3, window: 1d }
  - { name: on-trial, key: user, algorithm: fixed-window, limit: 1, window: 1d, shadow: true }
`;
const toEnd: (() => unknown)[] = [];
// Before `useStudio`, so that it is done after it: pages are closed before their services end.
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end();
});

const studio = useStudio({ config: `workers: 1\n${rules}` });

// Browsers log each answer of 400 and above as an error.
const refusals = /^console: Failed to load resource: the server responded with a status of (400|401|429) /;

async function openLive(options: Parameters<typeof studio.open>[1] = {}): Promise<Page> {
  const page = await studio.open('#/live', { expected: refusals, ...options });
  await page.getByRole('heading', { name: 'Live', level: 1 }).waitFor();
  return page;
}

async function ask(body: object, url = studio.service.url): Promise<{ status: number; json: { detail?: string } }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/check`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, json: (await response.json()) as never };
}

const check = async (user: string) => (await ask({ subject: { user } })).status;
const isLive = (page: Page) => page.getByText('● Live').waitFor();
const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');

/** Polled, because what is drawn to measure follows with the next frame. */
const expectFit = (page: Page) => expect.poll(() => layoutProblems(page)).toEqual([]);

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

async function figure(page: Page, name: string): Promise<number> {
  const text = await page.locator('.numbers div', { hasText: name }).locator('dd').first().textContent();
  return Number.parseFloat(text!.replace(/[^\d.]/g, ''));
}

async function ruleRow(page: Page, rule: string): Promise<number[]> {
  const cells = await region(page, 'Decisions per second')
    .getByRole('row', { name: rule })
    .locator('td.number')
    .allTextContents();
  return cells.map(Number);
}

describe('a service with traffic', () => {
  it('shows how much is asked and refused, by which rule and of whom', async () => {
    const page = await openLive();
    await isLive(page);
    // One check for each look at the page, until it shows them.
    const isSeen = async () => {
      await check('ann');
      const [allowed, refused, shadow] = await ruleRow(page, 'per-user');
      return refused! > 0 && allowed! >= 0 && shadow === 0 && (await figure(page, 'Refused')) > 0;
    };
    await expect.poll(isSeen, { timeout: 30_000 }).toBe(true);
    expect(await figure(page, 'Requests/s')).toBeGreaterThan(0);
    expect(await figure(page, 'Decisions/s')).toBeGreaterThan(0);
    expect(await figure(page, 'Shadow refusals/s')).toBeGreaterThan(0);
    const [, refusedOnTrial, shadowOnTrial] = await ruleRow(page, 'on-trial');
    expect(refusedOnTrial).toBe(0);
    expect(shadowOnTrial).toBeGreaterThan(0);
    expect(
      await page.locator('.numbers div', { hasText: 'Decision time, p99' }).locator('dd').first().textContent(),
    ).toMatch(/^≤ .+s$/);
    const refused = region(page, 'Refused most').locator('li', { hasText: 'ann' });
    expect(await refused.textContent()).toMatch(/^annper-user\d+ refusals?/);
    await page.getByText('The chart as a table').click();
    const [, requests, decisions] = await region(page, 'Decisions per second, the last two minutes')
      .locator('tbody tr')
      .first()
      .locator('td')
      .allTextContents();
    // Both rules are asked about each request; the numbers are rounded.
    expect(Number(decisions)).toBeGreaterThan(Number(requests));
    await page.setViewportSize({ width: 320, height: 700 });
    await expectFit(page);
    const name = await region(page, 'Rules').getByText('per-user').boundingBox();
    expect(name!.height).toBeLessThan(30);
  });

  it('keeps the refused ones in their places while a pointer or the focus is on them', async () => {
    for (let i = 0; i < 10; i++) await check('gus');
    for (let i = 0; i < 8; i++) await check('hal');
    // Tall, so that nothing scrolls away from under the pointer.
    const page = await openLive({ viewport: { width: 1280, height: 2400 } });
    const list = region(page, 'Refused most').locator('ol');
    const order = async () =>
      (await list.locator('code').allTextContents()).filter((key) => /gus|hal/.test(key)).join();
    await expect.poll(order, { timeout: 30_000 }).toBe('gus,hal');
    await button(page, 'Inspect gus of per-user').hover();
    // Into it, through it and out of it, with the pointer still there.
    await button(page, 'Inspect gus of per-user').focus();
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Pause' }).focus();
    for (let i = 0; i < 8; i++) await check('hal');
    await list.locator('li', { hasText: 'hal' }).getByText('13 refusals').waitFor();
    expect(await order()).toBe('gus,hal');
    await button(page, 'Inspect gus of per-user').focus();
    await page.keyboard.press('Tab');
    await page.mouse.move(0, 0);
    await check('hal');
    await list.locator('li', { hasText: 'hal' }).getByText('14 refusals').waitFor();
    expect(await order()).toBe('gus,hal');
    await page.getByRole('button', { name: 'Pause' }).focus();
    await expect.poll(order, { timeout: 30_000 }).toBe('hal,gus');
  });

  it('stands still while it is paused', async () => {
    const page = await openLive();
    await isLive(page);
    await button(page, 'Pause').click();
    await page.getByText('❚❚ Paused').waitFor();
    const uptime = page.locator('.facts div', { hasText: 'Up' }).locator('dd');
    const before = await uptime.textContent();
    const other = await openLive();
    await isLive(other);
    const seen = other.locator('.facts div', { hasText: 'Up' }).locator('dd');
    await expect.poll(() => seen.textContent(), { timeout: 30_000 }).not.toBe(before);
    expect(await uptime.textContent()).toBe(before);
    await button(page, 'Pause').click();
    await expect.poll(() => uptime.textContent(), { timeout: 30_000 }).not.toBe(before);
  });
});

describe('a check by hand', () => {
  it('is answered as everybody is, with the words of the service', async () => {
    const page = await openLive();
    const subject = page.getByLabel('Subject (JSON)');
    await expect.poll(() => subject.inputValue(), { timeout: 30_000 }).toContain('"user"');
    await subject.fill('{"user":"bob"}');
    const verdict = page.locator('.answer-verdict');
    for (const remaining of [2, 1, 0]) {
      await button(page, 'Check').click();
      await expect
        .poll(() => verdict.textContent(), { timeout: 30_000 })
        .toContain(`✓ 200 OK Allowed. Tightest is per-user, with ${remaining} remaining.`);
    }
    await button(page, 'Check').click();
    await page.getByText('✕ 429 Too Many Requests').waitFor();
    expect(await page.locator('dl[aria-label=Headers]').textContent()).toMatch(/Retry-After\d+/);

    await subject.fill('{"user":');
    await page.getByRole('alert').waitFor();
    expect(await button(page, 'Check').isDisabled()).toBe(true);
    const wrong = { subject: { user: { name: 'bob' } } };
    await subject.fill(JSON.stringify(wrong.subject));
    await button(page, 'Check').click();
    await page.getByText('✕ 400').waitFor();
    expect(await verdict.textContent()).toContain((await ask(wrong)).json.detail!);
  });

  it('may bring a policy of its own', async () => {
    const page = await openLive();
    await page.getByRole('radio', { name: 'A policy of my own' }).check();
    await page.getByLabel('Policy (JSON)').fill('{"algorithm":"fixed-window","limit":1,"window":"1d"}');
    await button(page, 'Check').click();
    await page.getByText('✓ 200 OK').waitFor();
    await button(page, 'Check').click();
    await page.getByText('✕ 429').waitFor();
    const wrong = { policy: { algorithm: 'magic' }, key: 'me' };
    await page.getByLabel('Policy (JSON)').fill(JSON.stringify(wrong.policy));
    await button(page, 'Check').click();
    await page.getByText('✕ 400').waitFor();
    expect(await page.locator('.answer-verdict').textContent()).toContain((await ask(wrong)).json.detail!);
  });
});

describe('a key', () => {
  it('gets a limit of its own, which counts at once, is changed, and is taken back', async () => {
    const page = await openLive();
    await button(page, 'Add an override').click();
    await dialog(page).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Key').fill('carl');
    await page.getByLabel('Limit').fill('-5');
    await button(page, 'Save the override').click();
    await dialog(page).getByRole('alert').waitFor();
    expect(await dialog(page).getByRole('alert').textContent()).toMatch(/limit must be .*-5/);
    await page.getByLabel('Limit').fill('5');
    await button(page, 'Save the override').click();
    await dialog(page).waitFor({ state: 'detached' });
    const listed = page.getByRole('list', { name: 'Overrides in force' });
    await listed.getByText('carl').waitFor();
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push(await check('carl'));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);

    await button(page, 'Change the override of carl of per-user').click();
    expect(await page.getByLabel('Limit').inputValue()).toBe('5');
    await page.getByLabel('Limit').fill('6');
    await button(page, 'Save the override').click();
    await dialog(page).waitFor({ state: 'detached' });
    expect([await check('carl'), await check('carl')]).toEqual([200, 429]);

    await button(page, 'Remove the override of carl of per-user').click();
    await page.getByText('carl has the limit of per-user again.').waitFor();
    await listed.waitFor({ state: 'detached' });
    expect((await (await fetch(`${studio.service.url}/v1/overrides`)).json()) as object).toEqual({ overrides: [] });
    await button(page, 'Undo').click();
    await listed.getByText('carl').waitFor();
    await button(page, 'Remove the override of carl of per-user').click();
    await listed.waitFor({ state: 'detached' });
  });

  it('keeps the end of its override when that is changed, and what somebody else did since is not undone', async () => {
    const url = `${studio.service.url}/v1/overrides/per-user/gina`;
    const put = (body: object) =>
      fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const page = await openLive();
    await isLive(page);
    // By somebody else, while the page is open.
    await put({ limit: 5, expiresIn: '2h' });
    await button(page, 'Change the override of gina of per-user').click();
    expect(await page.getByLabel('Expires in').inputValue()).toMatch(/^(2h|12[01]m|7[12]\d\ds)$/);
    await dialog(page)
      .getByText(/^Now for (2 h|1 h 59 min)\. /)
      .waitFor();
    await page.getByLabel('Limit').fill('6');
    await button(page, 'Save the override').click();
    await dialog(page).waitFor({ state: 'detached' });
    const listed = page.getByRole('list', { name: 'Overrides in force' });
    await listed.getByText(/^limit 6, for (2 h|1 h 59 min)/).waitFor();
    await put({ limit: 7 });
    await button(page, 'Undo').click();
    await page.getByText('The override of gina of per-user has changed since, so nothing was undone.').waitFor();
    await listed.getByText('limit 7, without end').waitFor();
    expect(await button(page, 'Undo').count()).toBe(0);
    await fetch(url, { method: 'DELETE' });
    await listed.waitFor({ state: 'detached' });
  });

  it('that was refused is looked at, and starts afresh', async () => {
    for (let i = 0; i < 30; i++) await check('dora');
    const page = await openLive();
    await button(page, 'Inspect dora of per-user').click();
    await dialog(page).getByText('No override.').waitFor();
    expect(await dialog(page).textContent()).toContain('dora of per-user');
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    // Where it came from.
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
      'Inspect dora of per-user',
    );
    await button(page, 'Reset dora of per-user').click();
    await button(page, 'Reset the key').click();
    await dialog(page).waitFor({ state: 'detached' });
    expect(await check('dora')).toBe(200);
    await button(page, 'Override dora of per-user').click();
    expect(await page.getByLabel('Key').inputValue()).toBe('dora');
    expect(await page.getByLabel('Key').isEditable()).toBe(false);
    await button(page, 'Cancel').click();
    await dialog(page).waitFor({ state: 'detached' });
  });
});

it('a service with a token is watched by those who have it, and is found again after a restart', async () => {
  const reserved = await reservePort();
  toEnd.push(() => reserved.release());
  const service = await startSluice({
    config: `workers: 1\nsecurity: { token: open-sesame }\n${rules}`,
    env: { SLUICE_LISTEN_HTTP: String(reserved.port) },
  });
  toEnd.push(() => service.stop());
  // A service that is ending may still say so.
  const lost =
    /net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)|status of 503/;
  const page = await openLive({ url: service.url, expected: new RegExp(`${refusals.source}|${lost.source}`) });
  await page.getByRole('heading', { name: 'This service needs a token' }).waitFor();
  await expectAccessible(page);
  await page.getByLabel('Token', { exact: true }).fill('open–sesame');
  await page.getByText('got U+2013 as character 5').waitFor();
  expect(await button(page, 'Use the token').isDisabled()).toBe(true);
  await page.getByLabel('Token', { exact: true }).fill('guess');
  await button(page, 'Use the token').click();
  await page.getByText('The token that was given is not accepted.').waitFor();
  await page.getByLabel('Token', { exact: true }).fill('open-sesame');
  await page.keyboard.press('Enter');
  await isLive(page);
  await page.reload();
  await isLive(page);
  await page.getByLabel('Subject (JSON)').fill('{"user":"eve"}');
  await button(page, 'Check').click();
  await page.getByText('✓ 200 OK').waitFor();

  await service.end('SIGTERM');
  await page.getByText('↻ Reconnecting').waitFor();
  // What was seen last is still to be seen.
  expect(await region(page, 'Rules').getByText('per-user').isVisible()).toBe(true);
  await service.restart();
  await isLive(page);
  await button(page, 'Pause').click();
  await button(page, 'Forget the token').click();
  await page.getByRole('heading', { name: 'This service needs a token' }).waitFor();
  // Nothing that was seen with it is left.
  expect(await page.locator('.facts').count()).toBe(0);
});

it('where the administration has a port of its own, a check can be tried there', async () => {
  const reserved = await reservePort();
  toEnd.push(() => reserved.release());
  const service = await startSluice({
    config: `workers: 1\n${rules}`,
    env: { SLUICE_LISTEN_ADMIN: String(reserved.port) },
  });
  toEnd.push(() => service.stop());
  const page = await openLive({ url: `http://127.0.0.1:${reserved.port}` });
  await isLive(page);
  await page.getByLabel('Subject (JSON)').fill('{"user":"ida"}');
  await button(page, 'Check').click();
  await page.getByText('✓ 200 OK').waitFor();
});

it('a gateway shows the circuits of its members', async () => {
  const [well, down] = await Promise.all([startUpstream('well'), startUpstream('down')]);
  toEnd.push(
    () => well.stop(),
    () => down.stop(),
  );
  await down.end();
  const gateway = await startGateway({
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 100, window: '1m' }],
    gateway: {
      routes: [
        { name: 'broken', match: { path: '/broken' }, upstream: 'broken' },
        { name: 'rest', upstream: 'rest' },
      ],
      upstreams: {
        broken: {
          members: [down.address],
          outliers: false,
          retries: { attempts: 0 },
          breaker: { failureRatio: 0.5, minimumCalls: 3, open: '1h' },
        },
        rest: { members: [well.address], breaker: { failureRatio: 0.5, minimumCalls: 3, open: '1h' } },
      },
    },
  });
  toEnd.push(() => gateway.stop());
  const page = await openLive({ url: gateway.adminUrl });
  await isLive(page);
  const memberOf = (upstream: string) => region(page, `Members of ${upstream}`).locator('tbody tr').textContent();
  expect(await memberOf('broken')).toBe(`${down.address}● closedyes0`);
  for (let i = 0; i < 3; i++) expect((await fetch(`${gateway.url}/broken`)).status).toBe(502);
  await expect.poll(() => memberOf('broken'), { timeout: 30_000 }).toBe(`${down.address}✕ openno0`);
  expect(await memberOf('rest')).toBe(`${well.address}● closedyes0`);
  expect(await page.getByText('0 of 1 usable').isVisible()).toBe(true);
  await page.getByLabel('Subject (JSON)').fill('{"ip":"192.0.2.1"}');
  await button(page, 'Check').click();
  await page.getByText('✓ 200 OK').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await expectFit(page);
  await expectAccessible(page);
});

it('a cluster shows who owns what, and who has taken over', async () => {
  const cluster = await startSluiceCluster({ config: rules, nodes: 2 });
  toEnd.push(() => cluster.stop());
  const [one, other] = cluster.nodes;
  const page = await openLive({ url: one!.url });
  await isLive(page);
  const members = region(page, 'Cluster').locator('tbody tr');
  const owned = () =>
    members.evaluateAll((rows) => rows.map((row) => Number(row.querySelector('td.number')?.textContent)));
  const all = await page.locator('.shards .shard').count();
  expect(all).toBeGreaterThan(1);
  const isShared = (counts: readonly number[]) => counts.length === 2 && Math.min(...counts) > 0 && sum(counts) === all;
  await expect.poll(async () => isShared(await owned()), { timeout: 30_000 }).toBe(true);
  expect(await members.getByText('this node').count()).toBe(1);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectFit(page);
  await expectAccessible(page);
  await other!.leave();
  await waitUntil('the other one has left', () => other!.state === 'ended');
  await expect.poll(async () => Math.max(...(await owned())), { timeout: 30_000 }).toBe(all);
});
