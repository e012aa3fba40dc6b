/** The gateway and its files: what it was configured by, and its state. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ReadConfigResult, readConfig } from '../config/read-config.ts';
import { serviceLog } from '../operations/log.ts';
import { type RunningGateway, startGateway } from './start-gateway.ts';

let folder: string;
let path: string;
const started: RunningGateway[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'start-gateway-'));
  path = join(folder, 'sluice.yaml');
});
afterEach(async () => {
  for (const gateway of started.splice(0)) await gateway.stop().catch(() => undefined);
  rmSync(folder, { recursive: true, force: true });
});

const base = `drain: 0
studio: false
gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", upstreams: { app: { members: ["127.0.0.1:1"] } } }
`;

function read(text: string): Extract<ReadConfigResult, { config: unknown }> {
  writeFileSync(path, base + text);
  const result = readConfig({ path });
  if ('problems' in result) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  return result;
}

async function start({ config, watched, watchedContent }: ReturnType<typeof read>): Promise<RunningGateway> {
  const log = serviceLog({ level: 'silent', to: { write: () => undefined } });
  const gateway = await startGateway({ config, watched, watchedContent, readConfig: () => readConfig({ path }), log });
  started.push(gateway);
  return gateway;
}

it('saves of its state what it can, and says at its end what it could not', async () => {
  const gateway = await start(read('snapshot: { path: state }\n'));
  // Nothing can be put in the place of a folder.
  mkdirSync(join(folder, 'state'));
  await expect(gateway.stop()).rejects.toThrow(`The state could not be saved: ${join(folder, 'state')}`);
  expect(readdirSync(folder).sort()).toEqual(['sluice.yaml', 'state', 'state.policies']);
});

it('applies a change that comes while it starts, and watches the files that are named from then on', async () => {
  const config = read('');
  writeFileSync(join(folder, 'tokens'), 'first\n');
  read('security: { tokenFile: tokens }\n');
  const { listening } = await start(config);
  const status = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${listening.admin?.port}/v1/rules`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  expect([await status('none'), await status('first')]).toEqual([401, 200]);
  writeFileSync(join(folder, 'tokens'), 'second\n');
  await waitUntil('the new token is in force', async () => (await status('second')) === 200);
});
