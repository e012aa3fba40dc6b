/** Who is refused most, and what can be done about it. */
import { Panel } from '../parts/panel.tsx';
import type { LiveSnapshot } from './contract.ts';
import type { RefusedKey } from './held-list.ts';
import { useHeldList } from './use-held-list.ts';
import { countText } from './words.ts';

export type KeyAction = 'inspect' | 'reset' | 'override';

interface RefusedPanelProps {
  readonly snapshot: LiveSnapshot;
  readonly onAction: (action: KeyAction, key: { readonly rule: string; readonly key: string }) => void;
}

const mostShown = 10;

const actions: readonly { readonly action: KeyAction; readonly text: string }[] = [
  { action: 'inspect', text: 'Inspect' },
  { action: 'reset', text: 'Reset' },
  { action: 'override', text: 'Override' },
];

export function RefusedPanel({ snapshot, onAction }: RefusedPanelProps) {
  const { list, hold } = useHeldList(snapshot.topRefused);
  const configured = new Set(snapshot.rules.filter(({ isConfigured }) => isConfigured).map(({ name }) => name));
  const most = list[0]?.refusals ?? 1;
  return (
    <Panel title="Refused most" aside={<span class="quiet">in the last minutes</span>} class="refused-panel">
      {list.length === 0 ? (
        <p class="quiet">Nobody was refused lately.</p>
      ) : (
        <ol class="keys" {...hold}>
          {list.slice(0, mostShown).map((one) => (
            <li key={`${one.rule} ${one.key}`} class={configured.has(one.rule) ? undefined : 'keys-plain'}>
              <span class="keys-line">
                <span class="keys-who">
                  <code title={one.key}>{one.key}</code>
                  <span class="quiet">{one.rule}</span>
                </span>
                <span class="keys-count">{refusalsText(one)}</span>
              </span>
              {configured.has(one.rule) && (
                <span class="keys-actions">
                  {actions.map(({ action, text }) => (
                    <button
                      key={action}
                      type="button"
                      aria-label={`${text} ${one.key} of ${one.rule}`}
                      onClick={() => onAction(action, one)}
                    >
                      {text}
                    </button>
                  ))}
                </span>
              )}
              <meter aria-hidden="true" min={0} max={most} value={one.refusals} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

/** The counts of a sketch: never too low, and too high by a known number at most. */
function refusalsText({ refusals, error }: RefusedKey): string {
  if (error === 0) return `${countText(refusals)} ${refusals === 1 ? 'refusal' : 'refusals'}`;
  return `at most ${countText(refusals)}, at least ${countText(refusals - error)}`;
}
