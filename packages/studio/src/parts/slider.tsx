/** A number by hand: a slider with its value beside it. `values` makes uneven steps (1, 2, 5, 10, ...). */
import { useId } from 'preact/hooks';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  /** What can be chosen, in order. */
  readonly values: readonly number[];
  /** The value in words, with its unit. */
  readonly text: (value: number) => string;
  readonly onChange: (value: number) => void;
}

export function Slider({ label, value, values, text, onChange }: SliderProps) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <output for={id}>{text(value)}</output>
      <input
        id={id}
        type="range"
        min={0}
        max={values.length - 1}
        step={1}
        value={nearestPlace(values, value)}
        aria-valuetext={text(value)}
        onInput={(event) => onChange(values[Number(event.currentTarget.value)]!)}
      />
    </div>
  );
}

/** A value from an address need not be one of the steps. */
function nearestPlace(values: readonly number[], value: number): number {
  let nearest = 0;
  for (const [place, one] of values.entries()) {
    if (Math.abs(one - value) < Math.abs(values[nearest]! - value)) nearest = place;
  }
  return nearest;
}

/** 1, 2, 5, 10, 20, ... from `from` to `to`. */
export function oneTwoFive(from: number, to: number): number[] {
  const values: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(from)); decade <= to; decade *= 10) {
    for (const step of [1, 2, 5]) {
      const value = Number((decade * step).toPrecision(12));
      if (value >= from && value <= to) values.push(value);
    }
  }
  return values;
}
