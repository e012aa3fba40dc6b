/** Overrides in words, and how a change of one is taken back. */
import type { ActiveOverrideData, OverrideData } from './service-api.ts';
import { longTimeText } from './words.ts';

/** What is different. */
export function overrideText({ override, expiresAtMs }: ActiveOverrideData, nowMs: number): string {
  const { limit, window, burst } = override;
  const parts: string[] = [];
  if (limit !== undefined) parts.push(`limit ${limit}`);
  if (window !== undefined) parts.push(`window ${windowText(window)}`);
  if (burst !== undefined) parts.push(`burst ${burst}`);
  return `${parts.join(', ')}, ${expiryText(expiresAtMs, nowMs)}`;
}

function windowText(window: number | string): string {
  return typeof window === 'string' ? window : `${window} ms`;
}

export function expiryText(expiresAtMs: number | null, nowMs: number): string {
  if (expiresAtMs === null) return 'without end';
  return expiresAtMs <= nowMs ? 'over' : `for ${longTimeText(expiresAtMs - nowMs)}`;
}

/** The time that is left, as the service takes it and as a form shows it: empty where there is no end. Rounded up, by a hundredth of it or a second at most. */
export function expiresInText(expiresAtMs: number | null, nowMs: number): string {
  if (expiresAtMs === null) return '';
  const leftMs = Math.max(1, expiresAtMs - nowMs);
  const [, stepMs] = durationUnits.find(([, ms]) => leftMs >= 100 * ms) ?? durationUnits.at(-1)!;
  const roundedMs = Math.ceil(leftMs / stepMs) * stepMs;
  const [unit, unitMs] = durationUnits.find(([, ms]) => roundedMs % ms === 0)!;
  return `${roundedMs / unitMs}${unit}`;
}

const durationUnits = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** Of one key; undefined: it has none. */
export function activeOverride(
  list: readonly ActiveOverrideData[],
  rule: string,
  key: string,
): ActiveOverrideData | undefined {
  return list.find((active) => active.rule === rule && active.key === key);
}

/** Whether a key still is as somebody left it here. If it is not, somebody else has changed it, or it has come to its end: not ours to take back. */
export function isAsLeft(left: OverrideData | undefined, present: ActiveOverrideData | undefined): boolean {
  if (left === undefined || present === undefined) return left === present?.override;
  return overrideFields.every((field) => left[field] === present.override[field]);
}

const overrideFields = ['limit', 'window', 'burst', 'expiresIn'] as const;

/** What puts the key back as it was: undefined where it had no override, or one that would be over by now. */
export function overrideBefore(before: ActiveOverrideData | undefined, nowMs: number): OverrideData | undefined {
  if (before === undefined) return undefined;
  const { expiresIn: _, ...fields } = before.override;
  if (before.expiresAtMs === null) return fields;
  const leftMs = Math.round(before.expiresAtMs - nowMs);
  return leftMs <= 0 ? undefined : { ...fields, expiresIn: leftMs };
}

/** The fields of a form: empty ones are left out, numbers become numbers, and what is none is for the service to refuse. */
export function overrideOf(fields: Readonly<Record<'limit' | 'window' | 'burst' | 'expiresIn', string>>): OverrideData {
  const given = Object.entries(fields)
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '');
  return Object.fromEntries(given.map(([name, text]) => [name, numberOr(text)])) as OverrideData;
}

function numberOr(text: string): number | string {
  return Number.isFinite(Number(text)) ? Number(text) : text;
}
