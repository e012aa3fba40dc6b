import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { propertySeedOf } from './property-seed.ts';

test('without a word about it the seed is the same in every run', () => {
  expect(propertySeedOf(undefined)).toBe(propertySeedOf(''));
});

test('the environment names a seed, or asks for any', () => {
  expect(propertySeedOf('0')).toBe(0);
  expect(propertySeedOf('2147483647')).toBe(2_147_483_647);
  expect(new Set(Array.from({ length: 20 }, () => propertySeedOf('random'))).size).toBeGreaterThan(1);
});

test.each(['Random', '1.5', '-1', '2147483648', 'NaN'])('%s is no seed', (text) => {
  expect(() => propertySeedOf(text)).toThrow(
    `PROPERTY_SEED must be "random" or a whole number from 0 to 2147483647, got "${text}".`,
  );
});

const again = `Again: PROPERTY_SEED=${inject('propertySeed')} node_modules/.bin/vitest run checks/properties/property-seed.test.ts`;

test('a property that fails was given the seed, and says how to repeat it', () => {
  expect(() => fc.assert(fc.property(fc.nat(), () => false))).toThrow(again);
});

test('so does one that takes its time', async () => {
  const neverTrue = fc.asyncProperty(fc.nat(), () => Promise.resolve(false));
  await expect(fc.assert(neverTrue)).rejects.toThrow(again);
});

test('what broke the property is the cause', () => {
  const cause = new Error('broken');
  const broken = fc.property(fc.nat(), () => {
    throw cause;
  });
  expect(() => fc.assert(broken)).toThrow(expect.objectContaining({ cause }));
});
