/** A part of a view with a heading of its own. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  /** Beside the heading, at its right: buttons, a state. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Panel({ title, aside, class: extra = '', children }: PanelProps) {
  const id = useId();
  return (
    <section class={`panel ${extra}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
