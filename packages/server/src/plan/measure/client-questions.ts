/** How each kind of client asks about a key, and how deep it is measured. */
import { type Policy, parsePolicy } from 'sluice';
import type { OpenDialogue } from '../../load/dialogue.ts';
import { grpcDialogue } from '../../load/grpc-dialogue.ts';
import { httpDialogue } from '../../load/http-dialogue.ts';
import type { Question } from '../../load/load-order.ts';
import { respDialogue } from '../../load/resp-dialogue.ts';
import { benchRule } from '../../load/service-process.ts';
import type { Client, PlanPolicy } from '../plan-question.ts';

export interface ClientUsage {
  readonly client: Client;
  readonly connections: number;
  /** From one on; a client that sends one by one has only that. */
  readonly pipelined: readonly number[];
}

// biome-ignore format: aligned rows
export const usages: Readonly<Record<Client, ClientUsage>> = {
  smart: { client: 'smart', connections: 50, pipelined: [1, 64] },
  redis: { client: 'redis', connections: 50, pipelined: [1, 64] },
  http:  { client: 'http',  connections: 64, pipelined: [1] },
  grpc:  { client: 'grpc',  connections: 50, pipelined: [1, 16] },
};

/** The generator puts so many digits in the place of the key. */
const keyDigits = 12;

export function questionOf(client: Client, data: PlanPolicy, keyBytes: number): Question {
  const key = `${'u'.repeat(Math.max(0, keyBytes - keyDigits))}{key}`;
  switch (client) {
    case 'smart':
      return { protocol: 'resp', words: ['SLUICE.APPLY', 'r{id}', '1', benchRule, key, policyText(data), '1', ''] };
    case 'redis':
      return { protocol: 'resp', words: ['SLUICE.CHECK', benchRule, key] };
    case 'http':
      return { protocol: 'http', path: '/v1/check', body: `{"subject":{"user":"${key}"}}` };
    case 'grpc':
      return { protocol: 'grpc', domain: 'bench', entry: 'user', value: key };
  }
}

function policyText(data: PlanPolicy): string {
  const policy: Policy = parsePolicy(data);
  return JSON.stringify({ ...policy });
}

export function dialogueOf(question: Question, authority: string): OpenDialogue {
  switch (question.protocol) {
    case 'http':
      return httpDialogue(question, authority);
    case 'resp':
      return respDialogue(question, 1);
    case 'grpc':
      return grpcDialogue(question, authority, 1);
  }
}
