/** What all of this would look like without the fences: the same load, the same callers, the same auditor, and a service that forgets. */
import { reservePort, startSluice } from '@sluice/test-servers';
import { slidingLog } from 'sluice';
import { expect, onTestFinished, test } from 'vitest';
import { allCallers } from './callers.test-support.ts';
import { graceMs, limit, rule } from './fire.test-support.ts';
import { audits } from './history.test-support.ts';
import { startLoad } from './load.test-support.ts';

// Longer than a process takes to start, however busy the machine is.
const policy = slidingLog({ limit, window: '15s' });
const config = `rules:
  - { name: ${rule}, key: user, algorithm: sliding-log, limit: ${limit}, window: 15s }
`;

test('kill -9 of a service that keeps its counts for itself: the auditor objects', async () => {
  const reserved = await reservePort();
  const service = await startSluice({ config, env: { SLUICE_LISTEN_RESP: String(reserved.port) } });
  const keys = Array.from({ length: 20 }, (_, i) => `busy-${i}`);
  const callers = await allCallers({ seeds: [`127.0.0.1:${reserved.port}`], rule, policy, graceMs });
  const load = startLoad({ callers, keys, graceMs, everyMs: () => 100 });
  onTestFinished(async () => {
    await load.stop();
    await service.stop();
    reserved.release();
  });
  await load.untilEachIsGranted(keys, limit / 2);
  expect(audits(load.calls, policy).between.ok).toBe(true);
  await service.end('SIGKILL');
  await service.restart();
  await load.untilEachIsGranted(keys, limit);
  const { between, atReceipt } = audits(load.calls, policy);
  expect(between.ok).toBe(false);
  expect(atReceipt.ok).toBe(false);
});
