/** Where a log is dropped or chosen, and what is said while it is read. */
import { countWords, type LogFormat } from '@sluice/tuner';
import { useId } from 'preact/hooks';
import { Field } from '../parts/field.tsx';
import { Panel } from '../parts/panel.tsx';
import type { LogState } from './use-log.ts';

type Format = 'auto' | LogFormat;

/** How a log is to be read; an empty field is found by itself. */
export interface LogOptions {
  readonly format: Format;
  readonly time: string;
  readonly cost: string;
}

interface LogPickerProps {
  readonly state: LogState;
  readonly logKey: string;
  readonly onKey: (key: string) => void;
  readonly isOver: boolean;
  readonly options: LogOptions;
  readonly onOptions: (options: LogOptions) => void;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onExample: () => void;
  readonly onCancel: () => void;
}

const formats: readonly (readonly [Format, string])[] = [
  ['auto', 'found by itself'],
  ['combined', 'combined (nginx, Apache)'],
  ['common', 'common'],
  ['json', 'JSON lines'],
  ['csv', 'CSV'],
];

export function LogPicker(props: LogPickerProps) {
  const { state, logKey, onKey, isOver, options, onOptions, onFiles, onExample, onCancel } = props;
  const inputId = useId();

  if (state.kind === 'reading') return <Reading {...state} onCancel={onCancel} />;
  return (
    <>
      {state.kind === 'failed' && (
        <p role="alert" class="problem">
          <b>{state.name}</b> could not be read. {state.message}
        </p>
      )}
      <Panel title="An access log">
        <section aria-label="Drop an access log here" class={`drop-zone ${isOver ? 'is-over' : ''}`}>
          <p>
            <b>Drop an access log here</b>
            <br />
            <span class="quiet">
              nginx, Apache, JSON lines or CSV; also gzipped; also several. It never leaves this page.
            </span>
          </p>
          <div class="drop-buttons">
            <label class="file-button" for={inputId}>
              Choose files
            </label>
            <input
              id={inputId}
              class="visually-hidden"
              type="file"
              multiple
              onChange={(event) => {
                onFiles([...(event.currentTarget.files ?? [])]);
                // So that the same file can be chosen again, after a change of the key.
                event.currentTarget.value = '';
              }}
            />
            <button type="button" onClick={onExample}>
              Try an example
            </button>
          </div>
        </section>
        <div class="picker-options">
          <Field
            label="Counted by"
            hint="ip, user, route, all, or the name of a field; several with a plus: user+route"
          >
            {(control) => (
              <input
                {...control}
                type="text"
                value={logKey}
                onInput={(event) => onKey(event.currentTarget.value.trim())}
              />
            )}
          </Field>
          <Field label="Format">
            {(control) => (
              <select
                {...control}
                value={options.format}
                onChange={(event) => onOptions({ ...options, format: event.currentTarget.value as Format })}
              >
                {formats.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {(['time', 'cost'] as const).map((name) => (
            <Field key={name} label={fieldLabels[name]} hint={fieldHints[name]}>
              {(control) => (
                <input
                  {...control}
                  type="text"
                  value={options[name]}
                  onInput={(event) => onOptions({ ...options, [name]: event.currentTarget.value.trim() })}
                />
              )}
            </Field>
          ))}
        </div>
      </Panel>
    </>
  );
}

const fieldLabels = { time: 'Field of the time', cost: 'Field of the cost' } as const;
const fieldHints = {
  time: 'of JSON and CSV; empty: one of the usual names',
  cost: 'empty: every call costs 1, or the column "cost" of CSV',
} as const;

interface ReadingProps {
  readonly name: string;
  readonly doneRatio: number;
  readonly lines: number;
  readonly about: string;
  readonly onCancel: () => void;
}

function Reading({ name, doneRatio, lines, about, onCancel }: ReadingProps) {
  return (
    <Panel
      title={name}
      aside={
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      }
    >
      <p role="status">
        {about}… {lines > 0 && `${countWords(lines)} lines`}
      </p>
      <progress max={1} value={doneRatio} aria-label="Read so far" />
    </Panel>
  );
}
