/** Decisions field by field; a table would not fit beside anything, nor on a phone. */
import { policyText } from './policy-text.ts';
import type { DecisionData } from './service-api.ts';
import { countText, waitText } from './words.ts';

const fields: readonly { readonly name: string; readonly text: (decision: DecisionData) => string }[] = [
  { name: 'Limit', text: ({ limit }) => countText(limit) },
  { name: 'Remaining', text: ({ remaining }) => countText(remaining) },
  { name: 'Retry after', text: ({ retryAfterMs }) => waitText(retryAfterMs) },
  { name: 'As new after', text: ({ resetAfterMs }) => waitText(resetAfterMs) },
  { name: 'Delay', text: ({ delayMs }) => waitText(delayMs) },
];

export function Decisions({ decisions }: { readonly decisions: readonly DecisionData[] }) {
  if (decisions.length === 0) return <p class="quiet">No rule applied, so nothing was limited.</p>;
  return (
    <ul class="decisions" aria-label="Decisions">
      {decisions.map((decision) => (
        <li key={decision.rule}>
          <p>
            <span class={`verdict ${decision.allowed ? 'good' : 'bad'}`}>
              {decision.allowed ? '✓ allowed' : '✕ refused'}
            </span>{' '}
            by <b>{decision.rule}</b> {notesText(decision)} <code class="quiet">{policyText(decision.policy)}</code>
          </p>
          <dl>
            {fields.map(({ name, text }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text(decision)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}

function notesText({ reason, shadow, degraded, remembered }: DecisionData): string {
  const notes = [
    reason && `reason: ${reason}`,
    shadow && 'shadow: never refuses',
    degraded && `degraded: ${degraded}`,
    remembered && 'remembered',
  ].filter(Boolean);
  return notes.length === 0 ? '' : `(${notes.join(', ')})`;
}
