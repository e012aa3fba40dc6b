/** Looks into data whose form nobody has vouched for. */
import type { Data } from './build-values.ts';

export function isMap(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function mapIn(value: unknown): Data {
  return isMap(value) ? value : {};
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
