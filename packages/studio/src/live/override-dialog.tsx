/** Another limit for one key. */
import { useState } from 'preact/hooks';
import { Field } from '../parts/field.tsx';
import { Modal } from './modal.tsx';
import { activeOverride, expiresInText, expiryText, overrideOf } from './override-text.ts';
import type { Done } from './overrides-panel.tsx';
import { type ActiveOverrideData, isOk, keyPath, problemText, type ServiceApi } from './service-api.ts';

interface OverrideDialogProps {
  readonly service: ServiceApi;
  /** Of the configured rules. */
  readonly ruleNames: readonly string[];
  /** What the form starts with. */
  readonly start: { readonly rule: string; readonly key: string; readonly active?: ActiveOverrideData };
  /** Whether rule and key are given, and only the limits are to be chosen. */
  readonly isFixed: boolean;
  /** By the clock of the service. */
  readonly nowMs: number;
  /** What the one that is saved may replace. */
  readonly inForce: readonly ActiveOverrideData[];
  readonly onClose: () => void;
  readonly onSaved: (done: Done) => void;
}

const limitFields = [
  { name: 'limit', label: 'Limit', hint: 'As the rule’s when empty.' },
  { name: 'window', label: 'Window', hint: 'Such as 10s, 1m, 1h.' },
  { name: 'burst', label: 'Burst', hint: 'Where the algorithm has one.' },
  { name: 'expiresIn', label: 'Expires in', hint: 'Such as 1h, 1d. Empty: never.' },
] as const;

type LimitField = (typeof limitFields)[number]['name'];

export function OverrideDialog({
  service,
  ruleNames,
  start,
  isFixed,
  nowMs,
  inForce,
  onClose,
  onSaved,
}: OverrideDialogProps) {
  const [rule, setRule] = useState(start.rule === '' ? (ruleNames[0] ?? '') : start.rule);
  const [key, setKey] = useState(start.key);
  const { active } = start;
  const [limits, setLimits] = useState<Record<LimitField, string>>(() => ({
    limit: String(active?.override.limit ?? ''),
    window: String(active?.override.window ?? ''),
    burst: String(active?.override.burst ?? ''),
    expiresIn: active === undefined ? '' : expiresInText(active.expiresAtMs, nowMs),
  }));
  // As it was when the form was filled, which is what the field says.
  const [expiry] = useState(() => active && `Now ${expiryText(active.expiresAtMs, nowMs)}.`);
  const [problem, setProblem] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const title = active === undefined ? 'Add an override' : 'Change the override';
  const wrongField = problem === undefined ? undefined : fieldOf(problem);

  async function save(event: Event): Promise<void> {
    event.preventDefault();
    setIsAsking(true);
    const left = overrideOf(limits);
    // Before it is sent: the list may know of it before the answer is here.
    const before = activeOverride(inForce, rule, key);
    const reply = await service.ask('PUT', keyPath('overrides', rule, key), left);
    setIsAsking(false);
    if (isOk(reply)) onSaved({ words: `${key} has a limit of its own under ${rule}.`, rule, key, before, left });
    else setProblem(problemText(reply));
  }

  return (
    <Modal title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <Field label="Rule">
          {(control) => (
            <select
              {...control}
              disabled={isFixed}
              value={rule}
              onChange={(event) => setRule(event.currentTarget.value)}
            >
              {ruleNames.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Key">
          {(control) => (
            <input
              {...control}
              type="text"
              required
              autocomplete="off"
              readOnly={isFixed}
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          )}
        </Field>
        {limitFields.map(({ name, label, hint }, place) => (
          <Field
            key={name}
            label={label}
            hint={name === 'expiresIn' && expiry !== undefined ? `${expiry} ${hint}` : hint}
            problem={wrongField === name ? problem : undefined}
          >
            {(control) => (
              <input
                {...control}
                type="text"
                inputMode={name === 'limit' || name === 'burst' ? 'decimal' : 'text'}
                autocomplete="off"
                // biome-ignore lint/a11y/noAutofocus: in a dialog the first thing to fill in is where the focus belongs.
                autoFocus={isFixed && place === 0}
                value={limits[name]}
                onInput={(event) => setLimits({ ...limits, [name]: event.currentTarget.value })}
              />
            )}
          </Field>
        ))}
        {problem !== undefined && wrongField === undefined && (
          <p role="alert" class="problem field-wide">
            {problem}
          </p>
        )}
        <p class="quiet field-wide">
          It applies from the next check on, and what was used stays used. Removing it undoes it.
        </p>
        <div class="modal-buttons field-wide">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isAsking || ruleNames.length === 0}>
            Save the override
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** The service names the field that it does not like: first thing in its sentence, or as one that there is not. */
function fieldOf(problem: string): LimitField | undefined {
  return limitFields.find(({ name }) => new RegExp(`^(Rule "[^"]*": )?${name}\\b|no field "${name}"`).test(problem))
    ?.name;
}
