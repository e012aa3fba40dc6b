import fc from 'fast-check';
import { SluiceError } from 'sluice';
import { describe, expect, test } from 'vitest';
import type { PeerMessage, PeerReply } from '../messages.ts';
import { readPeerMessage, readPeerReply, writePeerMessage } from './peer-text.ts';

const check = { name: 'per-user', key: 'größe', policy: '{"algorithm":"gcra","limit":1,"window":1}', cost: 1 };
const state = { shard: 1023, nowMs: 12.5, doubts: [], settled: [], snapshot: { version: 1, names: [] } } as const;

const messages: PeerMessage[] = [
  { kind: 'apply', to: 'b', checks: [check, { ...check, operation: 'peek', shadow: true }], requestId: 'r' },
  { kind: 'offer', to: 'b', from: 'a', token: 't', shards: [{ ...state, doubts: [{ sinceMs: -5, about: 'lag' }] }] },
  { kind: 'table', to: 'b', revision: 7, table: '{}' },
  {
    kind: 'replicate',
    to: 'b',
    from: 'a',
    epoch: 3,
    kinds: [['per-user', check.policy]],
    shards: [
      { shard: 0, session: 1, sequence: 0, nowMs: 4, state, stepBytes: 0 },
      { shard: 5, session: 1, sequence: 9, nowMs: 4, stepBytes: 3 },
    ],
    steps: new Uint8Array([1, 2, 255]),
  },
];

test.each(messages)('a message $kind is what it was', (message) => {
  expect(readPeerMessage(writePeerMessage(message))).toEqual(message);
});

const decision = { allowed: false, limit: 3, remaining: 0, retryAfterMs: null, resetAfterMs: 5, delayMs: 0, rule: 'x' };
const replies: PeerReply[] = [
  { kind: 'decisions', decisions: [decision] },
  { kind: 'done' },
  { kind: 'copied', shards: [0, 1023] },
  { kind: 'not-mine' },
  { kind: 'failed', code: 'store-full', message: 'no room' },
];

test.each(replies)('a reply $kind is what it was', (reply) => {
  expect(readPeerReply(JSON.stringify(reply))).toEqual(reply);
});

const [apply, offer, table, replicate] = messages as [object, object, object, object];

function withStepBytes(stepBytes: unknown): object {
  return { ...replicate, shards: [{ shard: 0, session: 1, sequence: 0, nowMs: 4, stepBytes }] };
}

describe('what is no message is refused, and it is said why', () => {
  test.each<[unknown, string]>([
    [null, 'message must be an object'],
    ['apply', 'message must be an object'],
    [[apply], 'message must be an object'],
    [{}, 'message.kind must be one of apply, offer, table, replicate'],
    [{ kind: '__proto__' }, 'message.kind must be one of apply, offer, table, replicate'],
    [{ ...apply, to: 7 }, 'message.to must be a text'],
    [{ ...apply, checks: {} }, 'message.checks must be a list'],
    [{ ...apply, checks: [check, null] }, 'message.checks[1] must be an object'],
    [{ ...apply, checks: [{ ...check, key: undefined }] }, 'message.checks[0].key must be a text'],
    [{ ...apply, checks: [{ ...check, cost: '1' }] }, 'message.checks[0].cost must be a number'],
    [{ ...apply, checks: [{ ...check, cost: Number.NaN }] }, 'message.checks[0].cost must be a number'],
    [{ ...apply, checks: [{ ...check, policy: {} }] }, 'message.checks[0].policy must be a text'],
    [{ ...apply, checks: [{ ...check, shadow: 1 }] }, 'message.checks[0].shadow must be true or false'],
    [{ ...apply, requestId: 5 }, 'message.requestId must be a text'],
    [{ ...offer, shards: [{ ...state, shard: 1024 }] }, 'message.shards[0].shard must be from 0 below 1024'],
    [{ ...offer, shards: [{ ...state, shard: 0.5 }] }, 'message.shards[0].shard must be from 0 below 1024'],
    [
      { ...offer, shards: [{ ...state, doubts: [{ sinceMs: 1, about: 'x' }] }] },
      'message.shards[0].doubts[0].about must be one of all, lag',
    ],
    [{ ...offer, shards: [{ ...state, settled: [1] }] }, 'message.shards[0].settled[0] must be a text'],
    [{ ...offer, shards: [{ ...state, snapshot: 1 }] }, 'message.shards[0].snapshot must be an object'],
    [{ ...table, revision: 1.5 }, 'message.revision must be a whole number'],
    [{ ...table, table: { nodes: [] } }, 'message.table must be a text'],
    [{ ...replicate, epoch: undefined }, 'message.epoch must be a whole number'],
    [
      { ...replicate, shards: [{ ...state, session: 1, sequence: 1 }] },
      'message.shards[0].stepBytes must be from 0 below 33554432',
    ],
    [{ ...replicate, kinds: [['per-user']] }, 'message.kinds[0] must be 2 entries'],
    [{ ...replicate, kinds: [['per-user', 1]] }, 'message.kinds[0][1] must be a text'],
    [withStepBytes(-1), 'message.shards[0].stepBytes must be from 0 below 33554432'],
    [withStepBytes([3, 0, 'key', 1]), 'message.shards[0].stepBytes must be from 0 below 33554432'],
    [withStepBytes(2), 'message.steps must be 2 bytes, got none'],
  ])('%j', (message, problem) => {
    expect(() => readPeerMessage({ text: JSON.stringify(message) })).toThrow(
      expect.objectContaining({ code: 'invalid-option', message: problem }),
    );
  });

  test('bytes that the text does not speak of', () => {
    const bytes = new Uint8Array(3);
    const text = JSON.stringify(withStepBytes(2));
    expect(() => readPeerMessage({ text, bytes })).toThrow('message.steps must be 2 bytes, got 3');
    expect(() => readPeerMessage({ text: JSON.stringify(table), bytes })).toThrow(
      'message of kind table must be text alone',
    );
  });

  test('what is not JSON, and a reply that is none', () => {
    expect(() => readPeerMessage({ text: '{"kind":' })).toThrow('message must be JSON');
    expect(() => readPeerReply('{"kind":"apply"}')).toThrow('reply.kind must be one of');
    expect(() => readPeerReply('{"kind":"decisions","decisions":[{}]}')).toThrow('reply.decisions[0].allowed must be');
  });

  test('whatever stands in the place of a field, it is a message or an error that says what is wrong', () => {
    const bytes = new Uint8Array(3);
    const spoilt = fc
      .tuple(fc.constantFrom(...messages), fc.integer({ min: 0, max: 60 }), fc.jsonValue())
      .map(([message, place, value]) => {
        let left = place;
        return JSON.stringify(message, (_, old) => (left-- === 0 ? value : old));
      });
    fc.assert(
      fc.property(fc.oneof(spoilt, fc.json(), fc.string()), (text) => {
        try {
          const message = readPeerMessage({ text, ...(text.includes('replicate') && { bytes }) });
          expect(message).toEqual({ ...JSON.parse(text), ...(message.kind === 'replicate' && { steps: bytes }) });
        } catch (error) {
          expect(error).toBeInstanceOf(SluiceError);
          expect((error as Error).message).toMatch(/^message.* must be /);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
