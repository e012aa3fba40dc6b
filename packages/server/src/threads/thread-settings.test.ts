import { expect, it } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import { serviceLog } from '../operations/log.ts';
import { Tokens } from '../service/tokens.ts';
import { applySettings, threadSettings } from './thread-settings.ts';

it('changes what a reload changes: tokens, level and secrets', () => {
  const read = readConfig({
    text: 'security: { token: new-token }\nlogs: { level: debug }\nstore: { type: cluster, nodes: [a:1], token: of-store }',
  });
  if ('problems' in read) throw new Error(read.problems[0]?.message);
  const lines: string[] = [];
  const log = serviceLog({ level: 'info', secrets: ['old-token'], to: { write: (line) => void lines.push(line) } });
  const tokens = new Tokens(['old-token']);
  // As it travels to another thread.
  applySettings(structuredClone(threadSettings(read.config)), { tokens, log });
  log.debug({ path: '/new-token' }, 'old-token of-store');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('/[hidden]');
  expect(lines[0]).toContain('[hidden] [hidden]');
  expect([tokens.has('old-token'), tokens.has('new-token')]).toEqual([false, true]);
});
