/** A check by hand: of the configured rules, or of a policy that is written here. */
import { useEffect, useId, useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import { CopyBox } from '../parts/copy-box.tsx';
import { Field } from '../parts/field.tsx';
import { Panel } from '../parts/panel.tsx';
import { type CheckForm, checkBody } from './check-form.ts';
import { curlLine } from './curl-line.ts';
import { exampleSubject, type RuleData } from './example-subject.ts';
import type { ServiceApi, ServiceReply } from './service-api.ts';
import { TryAnswer } from './try-answer.tsx';

interface TryPanelProps {
  readonly service: ServiceApi;
  /** Undefined: not known yet. */
  readonly rules: readonly RuleData[] | undefined;
}

const examplePolicy = JSON.stringify({ algorithm: 'gcra', limit: 5, window: '1m' });

const emptyForm: CheckForm = { asks: 'rules', subject: '{}', policy: examplePolicy, key: 'me', cost: '1' };

export function TryPanel({ service, rules }: TryPanelProps) {
  const [form, setForm] = useState(emptyForm);
  const [reply, setReply] = useState<ServiceReply>();
  const [isAsking, setIsAsking] = useState(false);
  const [isTouched, setIsTouched] = useState(false);
  const id = useId();
  const example = JSON.stringify(exampleSubject(rules ?? []));

  // The example comes later than the form; what somebody wrote in the meantime stays.
  useEffect(() => {
    if (rules === undefined || isTouched) return;
    setForm((before) => ({ ...before, subject: example, asks: rules.length === 0 ? 'policy' : 'rules' }));
  }, [rules, isTouched, example]);

  function change(part: Partial<CheckForm>): void {
    setIsTouched(true);
    setForm((before) => ({ ...before, ...part }));
  }

  const read = checkBody(form);

  async function check(event: Event): Promise<void> {
    event.preventDefault();
    if ('problem' in read) return;
    setIsAsking(true);
    setReply(await service.ask('POST', 'v1/check', read.body));
    setIsAsking(false);
  }

  const problemOf = (field: keyof CheckForm) => ('problem' in read && read.field === field ? read.problem : undefined);
  return (
    <Panel title="Try a check" class="try-panel">
      <form class="form" onSubmit={(event) => void check(event)}>
        <Choice
          label="Ask"
          value={form.asks}
          options={[
            { value: 'rules', text: 'The configured rules' },
            { value: 'policy', text: 'A policy of my own' },
          ]}
          onChange={(asks) => change({ asks })}
        />
        {form.asks === 'rules' ? (
          <>
            <Field label="Subject (JSON)" hint={rulesHint(rules)} problem={problemOf('subject')} class="field-wide">
              {(control) => (
                <textarea
                  {...control}
                  rows={3}
                  spellcheck={false}
                  value={form.subject}
                  onInput={(event) => change({ subject: event.currentTarget.value })}
                />
              )}
            </Field>
            {form.subject !== example && (
              <div class="field-wide">
                <button type="button" onClick={() => change({ subject: example })}>
                  Use the example again
                </button>
              </div>
            )}
          </>
        ) : (
          <>
            <Field
              label="Policy (JSON)"
              hint="Equal policies share their keys."
              problem={problemOf('policy')}
              class="field-wide"
            >
              {(control) => (
                <textarea
                  {...control}
                  rows={3}
                  spellcheck={false}
                  value={form.policy}
                  onInput={(event) => change({ policy: event.currentTarget.value })}
                />
              )}
            </Field>
            <Field label="Key">
              {(control) => (
                <input
                  {...control}
                  type="text"
                  autocomplete="off"
                  value={form.key}
                  onInput={(event) => change({ key: event.currentTarget.value })}
                />
              )}
            </Field>
          </>
        )}
        <Field label="Cost" problem={problemOf('cost')} class="field-short">
          {(control) => (
            <input
              {...control}
              type="text"
              inputMode="decimal"
              autocomplete="off"
              value={form.cost}
              onInput={(event) => change({ cost: event.currentTarget.value })}
            />
          )}
        </Field>
        <button type="submit" class="primary form-send" disabled={isAsking || 'problem' in read} aria-describedby={id}>
          Check
        </button>
        <span id={id} class="visually-hidden">
          A check that is allowed is counted.
        </span>
      </form>
      {reply !== undefined && <TryAnswer reply={reply} />}
      {'body' in read && (
        <CopyBox
          label="The same with curl"
          text={curlLine({
            method: 'POST',
            address: service.addressOf('v1/check'),
            body: read.body,
            needsToken: service.hasToken,
          })}
        />
      )}
    </Panel>
  );
}

function rulesHint(rules: readonly RuleData[] | undefined): string {
  if (rules === undefined) return 'What is known of a request: user, ip, path, tier.';
  if (rules.length === 0) return 'No rules are configured, so everything is allowed.';
  const names = rules.slice(0, 5).map(({ name }) => String(name));
  const others = rules.length - names.length;
  return `Asked: those that apply of ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}.`;
}
