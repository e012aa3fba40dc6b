/** Numbers as people read them. */
import type { Quantile } from './latency.ts';

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });

export function countText(count: number): string {
  return whole.format(count);
}

/** Per second: 0, 0.2, 7.5, 320, 12.3k, 4.5M. */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.05) return '< 0.1';
  if (perSecond < 9.95) return shortened(perSecond, 1);
  if (perSecond < 9999.5) return whole.format(perSecond);
  return perSecond < 999_950 ? `${shortened(perSecond / 1000, 1)}k` : `${shortened(perSecond / 1_000_000, 1)}M`;
}

function shortened(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** Nothing that happened is shown as 0 %, and what did not always happen is never shown as 100 %. */
export function percentText(ratio: number): string {
  if (ratio > 0 && ratio < 0.001) return '< 0.1 %';
  if (ratio < 1 && ratio > 0.999) return '> 99.9 %';
  return `${shortened(ratio * 100, 1)} %`;
}

/** A short time: 50 µs, 2.5 ms, 1 s. */
export function shortTimeText(ms: number): string {
  if (ms < 1) return `${significant(ms * 1000)} µs`;
  return ms < 1000 ? `${significant(ms)} ms` : `${significant(ms / 1000)} s`;
}

function significant(value: number): string {
  return String(Number(value.toPrecision(2)));
}

/** What is known, and no more: at most this, or more than the last bound. */
export function quantileText(quantile: Quantile | undefined): string {
  if (quantile === undefined) return '–';
  const { overMs, atMostMs } = quantile;
  return atMostMs === Infinity ? `> ${shortTimeText(overMs)}` : `≤ ${shortTimeText(atMostMs)}`;
}

/** A long time in its two largest units: 3 d 4 h, 2 min 5 s, 0 s. */
export function longTimeText(ms: number): string {
  let left = Math.floor(Math.max(0, ms) / 1000);
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(left / seconds);
    left -= count * seconds;
    if (count > 0 || (unit === 's' && parts.length === 0)) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** A wait of a decision: null is never. */
export function waitText(ms: number | null): string {
  if (ms === null) return 'never';
  if (ms === 0) return '0';
  return ms < 10_000 ? shortTimeText(ms) : longTimeText(Math.ceil(ms / 1000) * 1000);
}
