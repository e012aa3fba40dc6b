import { expect, test } from 'vitest';
import { keySlot } from './key-slot.ts';

// As CLUSTER KEYSLOT of Redis 7.0.15 answers.
test.each([
  ['', 0],
  ['foo', 12_182],
  ['123456789', 12_739],
  ['{user1000}.following', 3443],
  ['{user}:1', 5474],
  ['foo{}{bar}', 8363], // an empty tag is none
  ['foo{{bar}}zap', 4015], // from the first brace to the next closing one: {bar
  ['foo{bar}{zap}', 5061],
  ['}{a}', 15_495],
  ['{a', 10_276], // never closed
  ['größe', 9425],
  ['\0\xff{\xfe}', 3793],
])('the key %j is in slot %d', (key, slot) => {
  expect(keySlot(Buffer.from(key, key.includes('\xfe') ? 'latin1' : 'utf8'))).toBe(slot);
});

test('a key is looked at where it lies, and nothing around it counts', () => {
  for (const key of ['foo', '{user}:1', 'foo{}{bar}', '{a', '', '}{a}']) {
    const bytes = Buffer.from(`x{y}${key}}z{w}`);
    expect(keySlot(bytes, 4, 4 + key.length)).toBe(keySlot(Buffer.from(key)));
  }
});
