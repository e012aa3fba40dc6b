/**
 * Asks a member whether it is well: one GET on a connection of its own, so that the answer says whether new connections are taken too.
 * Only the head of the answer counts; an error, a time-out and what is no HTTP are a no.
 */
import { connect } from 'node:net';
import type { ActiveHealthConfig } from '../../config/gateway-config.ts';
import { findHeadEnd } from '../wire/head-end.ts';
import { BadMessage } from '../wire/message.ts';
import { readResponse } from '../wire/read-response.ts';
import { requestText } from '../wire/write-head.ts';
import type { MemberAddress } from './member-connection.ts';

export type Probe = (member: MemberAddress, signal?: AbortSignal) => Promise<boolean>;

const limits = { headBytes: 16 * 1024, headers: 100 };

export function probeOf({ path, timeoutMs, statusFrom, statusTo }: ActiveHealthConfig): Probe {
  return async (member, signal) => {
    const status = await statusOf(member, path, timeoutMs, signal);
    return status !== undefined && status >= statusFrom && status <= statusTo;
  };
}

/** Undefined: there was no answer. */
function statusOf(
  member: MemberAddress,
  path: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(undefined);
    const socket = connect({ host: member.host, port: member.port });
    let bytes: Buffer = Buffer.alloc(0);
    const settle = (status?: number) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(status);
    };
    const giveUp = () => settle();
    const timer = setTimeout(giveUp, timeoutMs);
    signal?.addEventListener('abort', giveUp);
    socket.on('connect', () => socket.write(probeText(member, path), 'latin1'));
    socket.on('data', (arrived) => {
      bytes = Buffer.concat([bytes, arrived]);
      const answer = finalStatus(bytes);
      if (answer !== 'more') settle(answer);
    });
    socket.on('error', giveUp);
    socket.on('close', giveUp);
  });
}

function probeText({ host, port }: MemberAddress, path: string): string {
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return requestText('GET', path, ['user-agent', 'sluice-health'], ['host', authority, 'connection', 'close']);
}

/** Undefined: that is no answer. */
function finalStatus(bytes: Buffer): number | 'more' | undefined {
  try {
    for (let start = 0; ; ) {
      const end = findHeadEnd(bytes, start, start);
      if (end === -1) return bytes.length > limits.headBytes ? undefined : 'more';
      const { status } = readResponse(bytes, start, end, limits, 'GET');
      if (status >= 200 || status === 101) return status;
      start = end;
    }
  } catch (error) {
    if (error instanceof BadMessage) return undefined;
    throw error;
  }
}
