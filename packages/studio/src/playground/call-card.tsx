/** Why was this one refused: one decision, in words and in its own fields. */
import type { Ref } from 'preact';
import type { DecidedCall } from './engine.ts';
import { type Outcome, outcomeOf, reasonOf } from './reason.ts';
import type { Settings } from './settings.ts';
import { durationText, momentText } from './time-text.ts';

interface CallCardProps {
  readonly call: DecidedCall;
  readonly settings: Settings;
  /** The lane moves it to its call. */
  readonly place: Ref<HTMLDivElement>;
}

const words: Readonly<Record<Outcome, string>> = { allowed: '● allowed', delayed: '● delayed', refused: '× refused' };

export function CallCard({ call, settings, place }: CallCardProps) {
  const { decision, atMs, cost, order, isByHand } = call;
  const outcome = outcomeOf(call);
  return (
    <div class="call-card" ref={place}>
      <p class="call-card-title">
        <strong class={outcome}>{words[outcome]}</strong>
        <span class="quiet">
          call {order + 1}
          {isByHand ? ', by hand' : ''}
        </span>
      </p>
      <p>{reasonOf(call, settings)}</p>
      <dl>
        <Field name="at" value={momentText(atMs)} />
        <Field name="cost" value={String(cost)} />
        <Field name="remaining" value={String(decision.remaining)} />
        <Field name="retryAfterMs" value={durationText(decision.retryAfterMs)} isLeftOut={decision.allowed} />
        <Field name="delayMs" value={durationText(decision.delayMs)} isLeftOut={decision.delayMs === 0} />
        <Field name="resetAfterMs" value={durationText(decision.resetAfterMs)} />
      </dl>
    </div>
  );
}

function Field({ name, value, isLeftOut = false }: { name: string; value: string; isLeftOut?: boolean }) {
  if (isLeftOut) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
