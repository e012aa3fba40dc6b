/** What can be set: the limit, the traffic, which lanes are shown. */
import type { TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import { oneTwoFive, Slider } from '../parts/slider.tsx';
import { type AlgorithmName, algorithmNames, algorithms } from './algorithms.ts';
import { ranges, type Settings } from './settings.ts';
import { durationText } from './time-text.ts';
import { shapeNames, shapeTitles } from './traffic-shape.ts';

interface ControlsProps {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly lanes: readonly AlgorithmName[];
  readonly onLanes: (lanes: readonly AlgorithmName[]) => void;
}

const counts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100];
const windowsMs = [1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 60_000];
const rates = [0.1, 0.2, 0.5, 0.7, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20];
const smallCounts = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50];
const slotCounts = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];
const delaysMs = oneTwoFive(100, 60_000);
const holdsMs = [100, 200, 500, 700, 1000, 1500, 2000, 3000, 5000, 10_000, 20_000, 30_000];

export function Controls({ settings, onChange, lanes, onLanes }: ControlsProps) {
  const set = (change: Partial<Settings>) => onChange({ ...settings, ...change });
  return (
    <div class="controls">
      <Group title="Policy">
        <Slider
          label="Limit"
          value={settings.limit}
          values={counts}
          text={String}
          onChange={(limit) => set({ limit })}
        />
        <Slider
          label="Window"
          value={settings.windowMs}
          values={windowsMs}
          text={durationText}
          onChange={(windowMs) => set({ windowMs })}
        />
        <Slider
          label="Burst"
          value={settings.burst}
          values={counts}
          text={String}
          onChange={(burst) => set({ burst })}
        />
        <details>
          <summary class="single-summary">Per algorithm</summary>
          <div class="control-group">
            <Slider
              label="Slots (sliding slots)"
              value={settings.slots}
              values={slotCounts}
              text={String}
              onChange={(slots) => set({ slots })}
            />
            <Slider
              label="Longest delay (smooth)"
              value={settings.maxDelayMs}
              values={delaysMs}
              text={durationText}
              onChange={(maxDelayMs) => set({ maxDelayMs })}
            />
            <Slider
              label="In flight (concurrency)"
              value={settings.inFlight}
              values={smallCounts}
              text={String}
              onChange={(inFlight) => set({ inFlight })}
            />
            <Slider
              label="Hold time (concurrency)"
              value={settings.holdMs}
              values={holdsMs}
              text={durationText}
              onChange={(holdMs) => set({ holdMs })}
            />
          </div>
        </details>
      </Group>
      <Group title="Traffic">
        <Choice
          label="Shape"
          value={settings.shape}
          options={shapeNames.map((value) => ({ value, text: shapeTitles[value] }))}
          onChange={(shape) => set({ shape })}
        />
        <Slider
          label="Calls per second, on average"
          value={settings.callsPerSecond}
          values={rates}
          text={String}
          onChange={(callsPerSecond) => set({ callsPerSecond })}
        />
        <Seed seed={settings.seed} onChange={(seed) => set({ seed })} />
      </Group>
      <Lanes lanes={lanes} onLanes={onLanes} />
    </div>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  return (
    <section class="control-group" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Seed({ seed, onChange }: { readonly seed: number; readonly onChange: (seed: number) => void }) {
  const [least, most] = ranges.seed;
  /** What is in the field while it is no seed. */
  const [wrong, setWrong] = useState<string>();
  function take({ currentTarget }: TargetedEvent<HTMLInputElement>): void {
    const isRight = currentTarget.validity.valid && currentTarget.value !== '';
    setWrong(isRight ? undefined : currentTarget.value);
    if (isRight) onChange(Number(currentTarget.value));
  }
  return (
    <div class="seed">
      <label for="playground-seed">Seed</label>
      <input
        id="playground-seed"
        type="number"
        min={least}
        max={most}
        step={1}
        value={wrong ?? seed}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong !== undefined ? 'playground-seed-problem' : undefined}
        onInput={take}
        // From here on it shows what the run uses.
        onBlur={() => setWrong(undefined)}
      />
      <button type="button" onClick={() => onChange(Math.floor(Math.random() * (most + 1)))}>
        Other traffic
      </button>
      {wrong !== undefined && (
        <p id="playground-seed-problem" role="alert" class="problem">
          A seed is a whole number from {least} to {most}; the run still uses {seed}.
        </p>
      )}
    </div>
  );
}

function Lanes({ lanes, onLanes }: Pick<ControlsProps, 'lanes' | 'onLanes'>) {
  const toggled = (name: AlgorithmName) =>
    algorithmNames.filter((one) => (one === name ? !lanes.includes(one) : lanes.includes(one)));
  return (
    <fieldset class="control-group lane-switches">
      <legend>
        <h2>Algorithms</h2>
      </legend>
      {algorithmNames.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={lanes.includes(name)}
            // The last one stays: without any there is nothing to see.
            disabled={lanes.length === 1 && lanes.includes(name)}
            onChange={() => onLanes(toggled(name))}
          />
          {algorithms[name].title}
        </label>
      ))}
    </fieldset>
  );
}
