/** A field of a form with its name, a hint, and what is wrong with it. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: string | undefined;
  readonly class?: string;
  /** The control, with what ties it to its label. */
  readonly children: (control: FieldControl) => ComponentChildren;
}

export interface FieldControl {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

export function Field({ label, hint, problem, class: extra = '', children }: FieldProps) {
  const id = useId();
  const describedBy = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(Boolean);
  return (
    <div class={`field ${extra}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describedBy.length === 0 ? undefined : describedBy.join(' '),
        'aria-invalid': problem !== undefined,
      })}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="field-hint">
          {hint}
        </span>
      )}
      {problem !== undefined && (
        <span id={`${id}-problem`} role="alert" class="field-problem">
          {problem}
        </span>
      )}
    </div>
  );
}
