/** The view's own way to a service, against one that runs: what it sends is what the page reads. */
import { type SluiceService, startSluice, waitUntil } from '@sluice/test-servers';
import { monotonicClock } from 'sluice';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type History, historyMs, lastPoints, nextHistory, noHistory, ratesOf, ruleRates } from './history.ts';
import { quantile } from './latency.ts';
import { expiresInText, isAsLeft } from './override-text.ts';
import { type ActiveOverrideData, isOk, type KeyStateData, keyPath, problemText, serviceApi } from './service-api.ts';
import { watchService } from './watch-service.ts';

const config = `
workers: 1
rules:
  - { name: per-user, key: user, algorithm: sliding-log, limit: 3, window: 1h }
  - { name: watched, key: user, algorithm: sliding-log, limit: 1, window: 1h, shadow: true }
`;

let service: SluiceService;
beforeAll(async () => {
  service = await startSluice({ config });
});
afterAll(() => service.stop());

describe('a running service', () => {
  test('is seen while it decides', async () => {
    const api = serviceApi(`${service.url}/#/live`, undefined);
    const controller = new AbortController();
    let history: History = noHistory;
    const ended = watchService({
      address: api.addressOf('v1/live'),
      token: undefined,
      clock: monotonicClock,
      random: Math.random,
      signal: controller.signal,
      onConnection: () => {},
      onSnapshot: (snapshot) => {
        history = nextHistory(history, snapshot);
      },
    });
    await waitUntil('it is seen', () => history.latest !== undefined);
    for (let call = 0; call < 5; call += 1) await api.ask('POST', 'v1/check', { subject: { user: 'ann' } });
    await waitUntil('both refusals are seen', () => history.latest!.topRefused[0]?.refusals === 2);
    controller.abort();
    await ended;
    const spanMs = history.points.reduce((sum, point) => sum + point.spanMs, 0);
    const { allowed, refused } = ruleRates(history.points, 'per-user');
    expect([allowed, refused].map((rate) => Math.round((rate * spanMs) / 1000))).toEqual([3, 2]);
    // A shadow rule speaks about the refused ones too.
    expect(Math.round((ruleRates(history.points, 'watched').shadowRefused * spanMs) / 1000)).toBe(4);
    expect(history.latest!.topRefused).toEqual([{ rule: 'per-user', key: 'ann', refusals: 2, error: 0 }]);
    const { durations, requests, decisions } = ratesOf(lastPoints(history.points, historyMs))!;
    // Two rules decided about each of the five requests.
    expect([requests, decisions].map((rate) => Math.round((rate * spanMs) / 1000))).toEqual([5, 10]);
    expect(quantile(history.latest!.durations.boundsMs, durations, 0.5)).toBeDefined();
  });

  test('is asked about keys that have anything in them, and changed', async () => {
    for (const key of ['a/b c|%?#+&', '.', '..', 'ü']) await changeAndAsk(key);
  });

  async function changeAndAsk(key: string): Promise<void> {
    const api = serviceApi(service.url, undefined);
    expect(isOk(await api.ask('PUT', keyPath('overrides', 'per-user', key), { limit: 7 }))).toBe(true);
    const state = (await api.ask('GET', keyPath('keys', 'per-user', key))).body as KeyStateData;
    expect([state.key, state.decision.limit, state.override?.override.limit]).toEqual([key, 7, 7]);
    const { overrides } = (await api.ask('GET', 'v1/overrides')).body as { overrides: ActiveOverrideData[] };
    expect(overrides).toEqual([{ rule: 'per-user', key, override: { limit: 7 }, expiresAtMs: null }]);
    expect(isOk(await api.ask('DELETE', keyPath('overrides', 'per-user', key)))).toBe(true);
  }

  test('lists an override as it was written, so that it is known again', async () => {
    const api = serviceApi(service.url, undefined);
    const path = keyPath('overrides', 'per-user', 'fay');
    const listed = async () => {
      const { overrides } = (await api.ask('GET', 'v1/overrides')).body as { overrides: ActiveOverrideData[] };
      return overrides.find(({ key }) => key === 'fay');
    };
    const left = { limit: 7, window: '1m', expiresIn: '1h' };
    await api.ask('PUT', path, left);
    expect(isAsLeft(left, await listed())).toBe(true);
    // What the form says of the time that is left is a time that the service takes.
    const { expiresAtMs } = (await listed())!;
    const changed = { limit: 8, expiresIn: expiresInText(expiresAtMs, Date.now()) };
    expect(isOk(await api.ask('PUT', path, changed))).toBe(true);
    expect(isAsLeft(left, await listed())).toBe(false);
    expect((await listed())!.expiresAtMs).toBeGreaterThanOrEqual(expiresAtMs!);
    await api.ask('DELETE', path);
    expect(isAsLeft(undefined, await listed())).toBe(true);
  });

  test('says what is wrong, and nobody says that nobody answers', async () => {
    const wrong = await serviceApi(service.url, undefined).ask('PUT', keyPath('overrides', 'per-user', 'a'), {
      limit: 0,
    });
    expect([wrong.status, problemText(wrong)]).toEqual([
      400,
      expect.stringContaining('limit must be a number above 0'),
    ]);
    // Nothing listens on port 1.
    const silent = await serviceApi('http://127.0.0.1:1/', undefined).ask('GET', 'v1/rules');
    expect([silent.status, isOk(silent), problemText(silent)]).toEqual([
      0,
      false,
      expect.stringContaining('did not answer'),
    ]);
  });
});
