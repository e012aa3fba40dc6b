/** Where on a picture of clients' peaks something is: logarithmic both ways, because few clients call a thousand times as often as the rest. */
import type { Bin } from '@sluice/tuner';

export interface PeaksScale {
  readonly width: number;
  readonly height: number;
  /** Beyond the busiest client and beyond the limit: what lies at the edge cannot be dragged. */
  readonly most: number;
  readonly mostClients: number;
}

export function peaksScale(bins: readonly Bin[], limit: number, width: number, height: number): PeaksScale {
  const highest = bins.reduce((most, { below }) => Math.max(most, below), 2);
  return {
    width,
    height,
    most: Math.max(highest, limit + 1) * 2,
    mostClients: bins.reduce((most, { clients }) => Math.max(most, clients), 1),
  };
}

export function xOf(peak: number, { most, width }: PeaksScale): number {
  return (width * Math.log(Math.max(1, peak))) / Math.log(most);
}

/** The limit that is meant by a place: a number that a person would write. */
export function limitAt(x: number, { most, width }: PeaksScale): number {
  const exact = most ** Math.min(1, Math.max(0, x / width));
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1);
  return Math.max(1, Math.round(exact / digits) * digits);
}

/** One client is seen too, which on an even scale would be less than a pixel. */
export function barHeight(clients: number, { mostClients, height }: PeaksScale): number {
  return clients <= 0 ? 0 : (height * Math.log1p(clients)) / Math.log1p(mostClients);
}

/** 1, 10, 100, ...: as far as the picture goes. */
export function decades({ most }: PeaksScale): number[] {
  const ticks: number[] = [];
  for (let tick = 1; tick <= most; tick *= 10) ticks.push(tick);
  return ticks;
}
