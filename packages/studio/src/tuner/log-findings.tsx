/** What is in a log, and what the rule that is being tried would have done. */
import { countWords, percentWords, rateWords, spanText, windowWords } from '@sluice/tuner';
import { Choice } from '../parts/choice.tsx';
import { CopyBox } from '../parts/copy-box.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import { oneTwoFive, Slider } from '../parts/slider.tsx';
import { LimitsPanel } from './limits-panel.tsx';
import type { LogSummary, WhatIfData } from './messages.ts';
import { PeaksChart } from './peaks-chart.tsx';
import {
  type AlgorithmName,
  algorithms,
  hasBurst,
  policyOf,
  type RuleChoice,
  ruleYaml,
  windowsMs,
} from './rule-choice.ts';
import { momentText, TimeChart } from './time-chart.tsx';
import type { UsedLog } from './use-log.ts';

interface LogFindingsProps {
  readonly name: string;
  readonly summary: LogSummary;
  readonly choice: RuleChoice;
  readonly logKey: string;
  readonly log: UsedLog;
  readonly onChoice: (choice: RuleChoice) => void;
  readonly onAdvice: () => void;
}

export function LogFindings(props: LogFindingsProps) {
  const { name, summary, choice, logKey, log, onChoice } = props;
  const { result } = log;
  const isBusy = log.problem === undefined && !log.isResultOf(policyOf(choice));
  const window = summary.distribution.windows.find(({ windowMs }) => windowMs === choice.windowMs);
  return (
    <>
      <LogFacts name={name} summary={summary} onDrop={log.drop} />
      <div class="tuner-columns">
        <Panel title="The rule" class="rule-panel">
          <RuleControls choice={choice} most={window?.calls.max ?? choice.limit} onChoice={onChoice} />
        </Panel>
        <Panel title="Who calls how often" class="peaks-panel">
          {window !== undefined && (
            <PeaksChart window={window} limit={choice.limit} onLimit={(limit) => onChoice(withLimit(choice, limit))} />
          )}
          {log.problem !== undefined && (
            <p role="alert" class="problem">
              {log.problem}
            </p>
          )}
          {result === undefined ? (
            <p class="quiet">Counting…</p>
          ) : (
            <Outcome result={result} isBusy={isBusy} about={summary.trace.thinnedTo > 1 ? 'about ' : ''} />
          )}
        </Panel>
      </div>
      {result !== undefined && (
        <div class="tuner-columns even" aria-busy={isBusy}>
          <Panel title="When it would have refused">
            <TimeChart result={result} />
          </Panel>
          <Panel title="Who would have been refused">
            <RefusedClients result={result} />
          </Panel>
        </div>
      )}
      <div class="tuner-columns even">
        <AdvicePanel {...props} />
        <Panel title="Your rule">
          <CopyBox label="YAML" text={ruleYaml(choice, logKey)} />
        </Panel>
      </div>
      <RatesPanel summary={summary} />
      <LimitsPanel windowMs={choice.windowMs} log={log} />
    </>
  );
}

/** A burst that was the limit stays the limit. */
function withLimit(choice: RuleChoice, limit: number): RuleChoice {
  const burst = choice.burst === choice.limit ? limit : Math.min(choice.burst, limit);
  return { ...choice, limit, burst };
}

function LogFacts({
  name,
  summary,
  onDrop,
}: {
  readonly name: string;
  readonly summary: LogSummary;
  readonly onDrop: () => void;
}) {
  const { read, trace } = summary;
  const clients = `${trace.clientsErrorRatio > 0 ? 'about ' : ''}${countWords(trace.clients)}`;
  return (
    <Panel
      title={name}
      aside={
        <button type="button" onClick={onDrop}>
          Another log
        </button>
      }
    >
      <p>
        {countWords(read.read)} calls of {clients} clients in {spanText(trace.spanMs)}, from {momentText(trace.firstMs)}
        ; {formatsOf(read)} format, counted by {read.files.find(({ fields }) => fields)?.fields?.client}
        {trace.tickMs > 1 ? `; times are known to ${windowWords(trace.tickMs)}` : ''}.
      </p>
      {trace.thinnedTo > 1 && (
        <p class="quiet">
          The log did not fit: of clients that call little, one in {trace.thinnedTo} was kept and stands for the others.
        </p>
      )}
      {read.withoutKey > 0 && <p class="quiet">{countWords(read.withoutKey)} calls lack the key, and are left out.</p>}
      {trace.lateLines > 0 && (
        <p class="quiet">{countWords(trace.lateLines)} lines were out of order, and are counted at their own time.</p>
      )}
      {read.malformed > 0 && (
        <details>
          <summary>{countWords(read.malformed)} lines could not be read</summary>
          <ul class="malformed">
            {read.firstMalformed.map(({ file, line, problem, text }) => (
              <li key={`${file} ${line}`}>
                {read.files.length > 1 && `${file}: `}Line {line} {problem}: <code>{text}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

function formatsOf({ files }: LogSummary['read']): string {
  return [...new Set(files.flatMap(({ format }) => format ?? []))].join(' and ');
}

interface RuleControlsProps {
  readonly choice: RuleChoice;
  /** What the busiest client reaches. */
  readonly most: number;
  readonly onChoice: (choice: RuleChoice) => void;
}

function RuleControls({ choice, most, onChoice }: RuleControlsProps) {
  const limits = oneTwoFive(1, Math.max(10, most * 10))
    .flatMap((value) => (value < 10 ? [value] : [value, value * 1.2, value * 1.5]))
    .map(Math.round);
  const values = [...new Set([...limits, choice.limit])].sort((a, b) => a - b);
  const bursts = [
    ...new Set([
      choice.algorithm === 'leaky-bucket' ? 0 : 1,
      ...values.filter((value) => value <= choice.limit),
      choice.burst,
    ]),
  ].sort((a, b) => a - b);
  return (
    <div class="rule-controls">
      <Choice
        label="Algorithm"
        value={choice.algorithm}
        options={algorithms.map((value) => ({ value, text: value }))}
        onChange={(algorithm: AlgorithmName) =>
          onChoice({ ...choice, algorithm, burst: Math.max(choice.burst, algorithm === 'leaky-bucket' ? 0 : 1) })
        }
      />
      <Choice
        label="Window"
        value={String(choice.windowMs)}
        options={windowsMs.map((ms) => ({ value: String(ms), text: windowWords(ms) }))}
        onChange={(ms) => onChoice({ ...choice, windowMs: Number(ms) })}
      />
      <Slider
        label="Limit"
        value={choice.limit}
        values={values}
        text={(value) => rateWords(value, choice.windowMs)}
        onChange={(limit) => onChoice(withLimit(choice, limit))}
      />
      {hasBurst(choice.algorithm) && (
        <Slider
          label="Burst"
          value={choice.burst}
          values={bursts}
          text={(value) => `${countWords(value)} at once`}
          onChange={(burst) => onChoice({ ...choice, burst })}
        />
      )}
    </div>
  );
}

interface OutcomeProps {
  readonly result: WhatIfData;
  readonly isBusy: boolean;
  /** Stands before what some clients tell for others. */
  readonly about: string;
}

function Outcome({ result, isBusy, about }: OutcomeProps) {
  const counted = (count: number) => `${about}${countWords(Math.round(count))}`;
  const { refusedCalls, refusedCallRatio, refusedClients, refusedClientRatio, delayedCalls, worstWindow } = result;
  return (
    <dl class="figures" aria-busy={isBusy}>
      <div>
        <dt>calls refused</dt>
        <dd>
          {percentWords(refusedCallRatio)} <small>{counted(refusedCalls)}</small>
        </dd>
      </div>
      <div>
        <dt>clients refused</dt>
        <dd>
          {percentWords(refusedClientRatio)} <small>{counted(refusedClients)}</small>
        </dd>
      </div>
      <div>
        <dt>worst window</dt>
        <dd>
          {countWords(worstWindow.cost)} <small>of {countWords(worstWindow.limit)}</small>
        </dd>
      </div>
      {delayedCalls > 0 && (
        <div>
          <dt>calls delayed</dt>
          <dd>{counted(delayedCalls)}</dd>
        </div>
      )}
    </dl>
  );
}

function RefusedClients({ result }: { readonly result: WhatIfData }) {
  return (
    <DataTable
      caption="The clients that would have been refused most"
      rows={result.mostRefused}
      keyOf={({ name }) => name}
      whenEmpty="Nobody."
      columns={[
        { title: 'client', cell: ({ name }) => <ClientName name={name} /> },
        { title: 'refused', isNumber: true, cell: ({ refusedCalls }) => countWords(refusedCalls) },
        {
          title: 'of its calls',
          isNumber: true,
          cell: ({ refusedCalls, calls }) => percentWords(refusedCalls / calls),
        },
        { title: 'first at', cell: ({ firstRefusedMs }) => momentText(firstRefusedMs) },
        {
          title: 'longest until it passed',
          isNumber: true,
          cell: ({ blockedMsMax }) => spanText(blockedMsMax),
        },
      ]}
    />
  );
}

function AdvicePanel({ summary, choice, onAdvice }: LogFindingsProps) {
  const { advice, separation } = summary;
  const { limit, window, burst } = advice.policy as { limit: number; window: number; burst: number };
  const isUsed =
    choice.algorithm === advice.policy.algorithm &&
    choice.limit === limit &&
    choice.windowMs === window &&
    choice.burst === burst;
  return (
    <Panel
      title="What the log suggests"
      aside={
        <button type="button" class="primary" disabled={isUsed} onClick={onAdvice}>
          {isUsed ? 'In use' : 'Use it'}
        </button>
      }
    >
      <p>
        <b>
          {advice.policy.algorithm}, {rateWords(limit, window)}, burst {countWords(burst)}
        </b>
      </p>
      <ul class="reasons">
        {[...advice.reasons, ...advice.warnings].map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {separation.isClear && (
        <DataTable
          caption="Clients that stand out"
          rows={separation.abusers.slice(0, 5)}
          keyOf={({ client }) => client}
          whenEmpty="Nobody."
          columns={[
            { title: 'stands out', cell: ({ client }) => <ClientName name={client} /> },
            { title: 'at its busiest', isNumber: true, cell: ({ peak }) => rateWords(peak, separation.windowMs) },
            { title: 'calls', isNumber: true, cell: ({ calls }) => countWords(calls) },
          ]}
        />
      )}
    </Panel>
  );
}

function RatesPanel({ summary }: { readonly summary: LogSummary }) {
  const { windows } = summary.distribution;
  return (
    <Panel title="Calls of a client at its busiest">
      <DataTable
        caption="Quantiles over clients of their most calls in any window"
        rows={windows}
        keyOf={({ windowMs }) => String(windowMs)}
        whenEmpty="There are no clients."
        columns={[
          {
            title: 'in any',
            cell: ({ windowMs, isCoarse }) => `${windowWords(windowMs)}${isCoarse ? ' (too high)' : ''}`,
          },
          ...(['p50', 'p90', 'p99', 'p999', 'max'] as const).map((quantile) => ({
            title: quantileTitles[quantile],
            isNumber: true,
            cell: ({ calls }: (typeof windows)[number]) => countWords(calls[quantile]),
          })),
        ]}
      />
    </Panel>
  );
}

const quantileTitles = { p50: 'half', p90: '90 %', p99: '99 %', p999: '99.9 %', max: 'all' } as const;

/** Names come from the log, as long as somebody made them. */
function ClientName({ name }: { readonly name: string }) {
  return (
    <span class="client-name" title={name}>
      {name}
    </span>
  );
}
