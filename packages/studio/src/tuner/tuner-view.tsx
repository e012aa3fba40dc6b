/** A log, who is in it, and what a limit would have done to them. The log stays in this page. */
import type { LogReaderOptions } from '@sluice/tuner';
import { useEffect, useState } from 'preact/hooks';
import type { ViewProps } from '../shell/app.tsx';
import { replaceQuery } from '../shell/route.ts';
import { exampleLog } from './example-log.ts';
import { LogFindings } from './log-findings.tsx';
import { type LogOptions, LogPicker } from './log-picker.tsx';
import { choiceOfPolicy, choiceOfQuery, policyOf, queryOfChoice, type RuleChoice } from './rule-choice.ts';
import './tuner.css';
import { useDrop } from './use-drop.ts';
import { useLog } from './use-log.ts';

export function TunerView({ query }: ViewProps) {
  const [key, setKey] = useState(() => query.get('key') ?? 'ip');
  // Until somebody chooses, the advice does.
  const [choice, setChoice] = useState<RuleChoice | undefined>(() =>
    query.has('limit') ? choiceOfQuery(query) : undefined,
  );
  const [options, setOptions] = useState<LogOptions>({ format: 'auto', time: '', cost: '' });
  const log = useLog();
  const { state } = log;
  const read = (files: readonly File[]) => {
    if (files.length > 0) log.read(files, { key, ...givenOf(options) });
  };
  const isOver = useDrop(read);
  const advised = state.kind === 'read' ? choiceOfPolicy(state.summary.advice.policy) : undefined;
  const current = choice ?? advised;
  const asked = current && JSON.stringify(policyOf(current));

  useEffect(() => {
    if (state.kind !== 'read' || current === undefined) return;
    log.ask(policyOf(current));
    // What was only advised is not chosen: another log has other advice.
    replaceQuery('tuner', choice === undefined ? new URLSearchParams({ key }) : queryOfChoice(choice, key));
  }, [state.kind, asked]);

  return (
    <div class="tuner">
      <h1>What would a limit have refused?</h1>
      {state.kind === 'read' && current !== undefined ? (
        <LogFindings
          name={state.name}
          summary={state.summary}
          choice={current}
          logKey={key}
          log={log}
          onChoice={setChoice}
          onAdvice={() => setChoice(undefined)}
        />
      ) : (
        <LogPicker
          state={state}
          logKey={key}
          onKey={setKey}
          isOver={isOver}
          options={options}
          onOptions={setOptions}
          onFiles={read}
          onExample={() => {
            setKey('ip');
            log.read([exampleLog()], { key: 'ip' });
          }}
          onCancel={log.drop}
        />
      )}
    </div>
  );
}

/** Only what was given: the rest is found by itself. */
function givenOf({ format, time, cost }: LogOptions): LogReaderOptions {
  return { ...(format !== 'auto' && { format }), ...(time !== '' && { time }), ...(cost !== '' && { cost }) };
}
