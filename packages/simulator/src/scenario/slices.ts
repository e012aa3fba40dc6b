/** A run cut into slices of one length, and numbers for each of them. */
import type { Series, SeriesKind } from './result.ts';
import { measureUnits } from './vocabulary.ts';

export const slicesPerRun = 100;

export class Slices {
  readonly sliceMs: number;
  private readonly all: Counter[] = [];

  constructor(durationMs: number) {
    this.sliceMs = durationMs / slicesPerRun;
  }

  /** A new series of zeros. */
  counter(name: string, kind: SeriesKind): Counter {
    const counter = new Counter(name, kind, this.sliceMs);
    this.all.push(counter);
    return counter;
  }

  get series(): Series[] {
    return this.all.map(({ name, kind, values }) => ({ name, kind, unit: unitOf(name, kind), values: [...values] }));
  }
}

export class Counter {
  readonly name: string;
  readonly kind: SeriesKind;
  readonly values = new Float64Array(slicesPerRun);
  private readonly sliceMs: number;

  constructor(name: string, kind: SeriesKind, sliceMs: number) {
    this.name = name;
    this.kind = kind;
    this.sliceMs = sliceMs;
  }

  /** One more in the slice of that moment; what is after the end is not counted. */
  add(atMs: number, amount = 1): void {
    const slice = Math.floor(atMs / this.sliceMs);
    if (slice < slicesPerRun) this.values[slice]! += amount;
  }

  raise(atMs: number, to: number): void {
    const slice = Math.floor(atMs / this.sliceMs);
    if (slice < slicesPerRun) this.values[slice] = Math.max(this.values[slice]!, to);
  }

  set(slice: number, value: number): void {
    if (slice < slicesPerRun) this.values[slice] = value;
  }
}

function unitOf(name: string, kind: SeriesKind): Series['unit'] {
  if (kind === 'share') return 'ratio';
  if (kind === 'state') return 'number';
  const base = name.split('.', 1)[0]!;
  return base in measureUnits ? measureUnits[base as keyof typeof measureUnits] : 'count';
}
