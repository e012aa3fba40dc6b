/** Keys with limits of their own: which there are, another one, a change, none any more. What was done last can be taken back. */
import { useRef, useState } from 'preact/hooks';
import { Field } from '../parts/field.tsx';
import { Panel } from '../parts/panel.tsx';
import { activeOverride, isAsLeft, overrideBefore, overrideText } from './override-text.ts';
import {
  type ActiveOverrideData,
  isOk,
  keyPath,
  type OverrideData,
  problemText,
  type ServiceApi,
} from './service-api.ts';

interface OverridesPanelProps {
  readonly service: ServiceApi;
  readonly overrides: Overrides;
  /** By the clock of the service: of what is shown, and of now where it is paused. */
  readonly atMs: number;
  readonly nowMs: number;
  /** Undefined: a new one. */
  readonly onEdit: (override: ActiveOverrideData | undefined) => void;
}

export interface Overrides {
  /** Undefined: not known yet. */
  readonly list: readonly ActiveOverrideData[] | undefined;
  readonly problem: string | undefined;
  /** What was done last; said, and to be undone. */
  readonly done: Done | undefined;
  /** The list as it is now; undefined where nobody said. */
  refresh(): Promise<readonly ActiveOverrideData[] | undefined>;
  setDone(done: Done | undefined): void;
}

export interface Done {
  readonly words: string;
  readonly rule: string;
  readonly key: string;
  /** What was in force before. */
  readonly before: ActiveOverrideData | undefined;
  /** What is in force since. */
  readonly left: OverrideData | undefined;
}

const mostShown = 50;

export function OverridesPanel({ service, overrides, atMs, nowMs, onEdit }: OverridesPanelProps) {
  const [search, setSearch] = useState('');
  const [problem, setProblem] = useState<string>();
  const add = useRef<HTMLButtonElement>(null);
  const { done } = overrides;
  // One that has come to its end is not told of: it said when.
  const list = (overrides.list ?? []).filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > atMs);

  async function remove(one: ActiveOverrideData): Promise<void> {
    const { rule, key } = one;
    const reply = await service.ask('DELETE', keyPath('overrides', rule, key));
    setProblem(isOk(reply) ? undefined : problemText(reply));
    if (isOk(reply)) {
      const words = `${key} has the limit of ${rule} again.`;
      overrides.setDone({ words, rule, key, before: one, left: undefined });
    }
    // Its button is gone with its row.
    add.current?.focus();
    await overrides.refresh();
  }

  async function undo({ rule, key, before, left }: Done): Promise<void> {
    add.current?.focus();
    const present = await overrides.refresh();
    if (present === undefined) return;
    if (!isAsLeft(left, activeOverride(present, rule, key))) {
      overrides.setDone(undefined);
      return setProblem(`The override of ${key} of ${rule} has changed since, so nothing was undone.`);
    }
    const override = overrideBefore(before, nowMs);
    const path = keyPath('overrides', rule, key);
    const reply = override === undefined ? await service.ask('DELETE', path) : await service.ask('PUT', path, override);
    setProblem(isOk(reply) ? undefined : problemText(reply));
    if (isOk(reply)) overrides.setDone(undefined);
    await overrides.refresh();
  }

  const found = list.filter(({ rule, key }) => key.includes(search) || rule.includes(search));
  const shown = found.slice(0, mostShown);
  const isLong = list.length > 10;
  return (
    <Panel
      title="Overrides"
      class="overrides-panel"
      aside={
        <button ref={add} type="button" onClick={() => onEdit(undefined)}>
          Add an override
        </button>
      }
    >
      {isLong && (
        <Field label="Find a key or rule">
          {(control) => (
            <input {...control} type="text" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
          )}
        </Field>
      )}
      {shown.length === 0 ? (
        <p class="quiet">{search === '' ? 'No key has a limit of its own.' : `No override matches “${search}”.`}</p>
      ) : (
        <ul class="keys" aria-label="Overrides in force">
          {shown.map((one) => (
            <li key={`${one.rule} ${one.key}`}>
              <span class="keys-who">
                <code title={one.key}>{one.key}</code>
                <span class="quiet">{one.rule}</span>
              </span>
              <span class="keys-actions">
                <button type="button" aria-label={`Change the override of ${nameOf(one)}`} onClick={() => onEdit(one)}>
                  Change
                </button>
                <button
                  type="button"
                  aria-label={`Remove the override of ${nameOf(one)}`}
                  onClick={() => void remove(one)}
                >
                  Remove
                </button>
              </span>
              <span class="keys-rest">{overrideText(one, atMs)}</span>
            </li>
          ))}
        </ul>
      )}
      {found.length > shown.length && (
        <p class="quiet live-note">
          The first {shown.length} of {found.length}. Search to find others.
        </p>
      )}
      <div role="status" class="overrides-done">
        {done !== undefined && (
          <>
            {done.words}{' '}
            <button type="button" onClick={() => void undo(done)}>
              Undo
            </button>
          </>
        )}
      </div>
      {(problem ?? overrides.problem) !== undefined && (
        <p role="alert" class="problem">
          {problem ?? overrides.problem}
        </p>
      )}
    </Panel>
  );
}

function nameOf({ rule, key }: ActiveOverrideData): string {
  return `${key} of ${rule}`;
}
