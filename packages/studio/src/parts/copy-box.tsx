/** A text that is meant to be taken along. */
import { useEffect, useState } from 'preact/hooks';

interface CopyBoxProps {
  /** What it is: "TypeScript", "YAML". */
  readonly label: string;
  readonly text: string;
}

type State = 'ready' | 'copied' | 'failed';

const words: Readonly<Record<State, string>> = {
  ready: 'Copy',
  copied: 'Copied',
  failed: 'Select and copy by hand',
};

export function CopyBox({ label, text }: CopyBoxProps) {
  const [state, setState] = useState<State>('ready');
  // Another text has not been copied yet.
  useEffect(() => setState('ready'), [text]);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      // Over plain HTTP from another machine the browser has no clipboard for us.
      setState('failed');
    }
  }
  return (
    <div class="copy-box">
      <div class="copy-box-head">
        <span>{label}</span>
        <button type="button" aria-label={`${words[state]}: ${label}`} onClick={() => void copy()}>
          {words[state]}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </div>
  );
}
