/** What each rule says, the idle ones too. */
import { useState } from 'preact/hooks';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import { barsOf } from './bars.ts';
import { recentMs } from './checks-panel.tsx';
import type { LiveRule } from './contract.ts';
import { type Counts, type History, lastPoints, ruleRates, totalOf } from './history.ts';
import { Sparkline } from './sparkline.tsx';
import { rateText } from './words.ts';

interface Row {
  readonly rule: LiveRule;
  readonly rates: Counts;
}

/** What is counted beside the rules that somebody wrote. */
const besides: Readonly<Record<string, string>> = {
  'cl.throttle': 'redis-cell’s command',
  'ad-hoc': 'policies of requests',
  envoy: 'Envoy’s descriptors',
  'deny-list': 'refused before any rule',
};

const mostAtFirst = 30;

export function RulesPanel({ history }: { readonly history: History }) {
  const [showsAll, setShowsAll] = useState(false);
  const { points, latest } = history;
  const recent = lastPoints(points, recentMs);
  const rules = latest!.rules.filter((rule) => rule.isConfigured || totalOf(rule) > 0);
  const shown = showsAll ? rules : rules.slice(0, mostAtFirst);
  const columns: readonly Column<Row>[] = [
    { title: 'Rule', cell: ({ rule }) => <RuleName rule={rule} /> },
    { title: 'Allowed', isNumber: true, cell: ({ rates }) => <Rate value={rates.allowed} /> },
    { title: 'Refused', isNumber: true, cell: ({ rates }) => <Rate value={rates.refused} isBad /> },
    { title: 'Shadow', isNumber: true, cell: ({ rates }) => <Rate value={rates.shadowRefused} /> },
    { title: 'Errors', isNumber: true, cell: ({ rates }) => <Rate value={rates.errors} isBad /> },
    { title: 'Two minutes', cell: ({ rule }) => <Sparkline bars={barsOf(points, rule.name)} /> },
  ];
  return (
    <Panel title="Rules" aside={<span class="quiet">per second</span>} class="rules-panel">
      <DataTable
        caption="Decisions per second"
        columns={columns}
        rows={shown.map((rule) => ({ rule, rates: ruleRates(recent, rule.name) }))}
        keyOf={({ rule }) => rule.name}
        whenEmpty="No rules are configured, and nothing was asked yet. Try a check with a policy of your own below."
      />
      {rules.length > mostAtFirst && (
        <button type="button" class="live-more" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? `Show the first ${mostAtFirst} rules` : `Show all ${rules.length} rules`}
        </button>
      )}
    </Panel>
  );
}

function RuleName({ rule: { name, isConfigured } }: { readonly rule: LiveRule }) {
  return (
    <span class="rule-line">
      <span class="rule-name" title={name}>
        {name}
      </span>
      {!isConfigured && <span class="quiet"> {besides[name] ?? 'not configured'}</span>}
    </span>
  );
}

function Rate({ value, isBad = false }: { readonly value: number; readonly isBad?: boolean }) {
  if (value === 0) return <span class="quiet">0</span>;
  return <span class={isBad ? 'bad' : undefined}>{rateText(value)}</span>;
}
