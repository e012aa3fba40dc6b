/** What is shown where nothing can be watched: no service here, or one that wants a token. */
import { useState } from 'preact/hooks';
import { CopyBox } from '../parts/copy-box.tsx';
import { Field } from '../parts/field.tsx';
import { Panel } from '../parts/panel.tsx';
import { routeHash } from '../shell/route.ts';
import { tokenProblem } from './token.ts';

interface NoServiceProps {
  readonly because: string;
  readonly onConnectAgain: () => void;
}

export function NoService({ because, onConnectAgain }: NoServiceProps) {
  return (
    <Panel title="There is no service at this address" class="live-message">
      <p>
        This page watches the service that it comes from, and it comes from elsewhere: {because}. Start one, and open
        the studio at its address:
      </p>
      <CopyBox
        label="A service with no rules yet"
        text={'npx sluice-server serve\n# then open http://127.0.0.1:8080/#/live'}
      />
      <p>
        The <a href={routeHash('playground')}>playground</a> and the <a href={routeHash('tuner')}>tuner</a> need no
        service: they run in your browser.
      </p>
      <button type="button" onClick={onConnectAgain}>
        Try again
      </button>
    </Panel>
  );
}

interface NeedsTokenProps {
  readonly because: string;
  readonly hadToken: boolean;
  readonly onToken: (token: string) => void;
}

export function NeedsToken({ because, hadToken, onToken }: NeedsTokenProps) {
  const [token, setToken] = useState('');
  const problem = tokenProblem(token.trim());
  return (
    <Panel title="This service needs a token" class="live-message">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '' && problem === undefined) onToken(token.trim());
        }}
      >
        <p class="field-wide">{hadToken ? 'The token that was given is not accepted.' : because}</p>
        <Field
          label="Token"
          hint="As in the service’s configuration, under security. It is kept until this tab is closed, and sent to this service alone."
          problem={problem}
          class="field-wide"
        >
          {(control) => (
            <input
              {...control}
              type="password"
              autocomplete="off"
              required
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          )}
        </Field>
        <button type="submit" class="primary" disabled={problem !== undefined}>
          Use the token
        </button>
      </form>
    </Panel>
  );
}
