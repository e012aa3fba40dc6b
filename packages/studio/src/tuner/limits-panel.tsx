/** For each algorithm the smallest limit that refuses no more than a share of the calls. Takes a moment, so it is asked for. */
import { countWords, percentWords, windowWords } from '@sluice/tuner';
import { useEffect, useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import type { UsedLog } from './use-log.ts';

const shares = ['0.0001', '0.001', '0.01', '0.1'] as const;

export function LimitsPanel({ windowMs, log }: { readonly windowMs: number; readonly log: UsedLog }) {
  const [share, setShare] = useState<(typeof shares)[number]>('0.001');
  const [isAsked, setIsAsked] = useState(false);
  useEffect(() => {
    if (isAsked) log.askLimits(windowMs, Number(share));
  }, [isAsked, windowMs, share]);
  const { limits } = log;
  return (
    <Panel
      title="The smallest limit of each algorithm"
      aside={
        !isAsked && (
          <button type="button" onClick={() => setIsAsked(true)}>
            Find them
          </button>
        )
      }
    >
      <Choice
        label={`Per ${windowWords(windowMs).replace(/^an? /, '')}, refusing at most`}
        value={share}
        options={shares.map((value) => ({ value, text: `${percentWords(Number(value))} of the calls` }))}
        onChange={setShare}
      />
      {isAsked && limits === undefined && <p role="status">Trying limits…</p>}
      {limits !== undefined && (
        <DataTable
          caption="Smallest limits by algorithm"
          rows={limits.rows}
          keyOf={({ algorithm, variant }) => `${algorithm} ${variant}`}
          whenEmpty="No limit does, however large."
          columns={[
            {
              title: 'algorithm',
              cell: ({ algorithm, variant }) => `${algorithm}${variant === '' ? '' : `, ${variant}`}`,
            },
            { title: 'limit', isNumber: true, cell: ({ limit }) => countWords(limit) },
            { title: 'calls refused', isNumber: true, cell: ({ refusedCallRatio }) => percentWords(refusedCallRatio) },
            {
              title: 'clients refused',
              isNumber: true,
              cell: ({ refusedClientRatio }) => percentWords(refusedClientRatio),
            },
          ]}
        />
      )}
      {limits !== undefined && limits.sample.oneIn > 1 && (
        <p class="quiet">
          Of {countWords(limits.sample.clients)} of {countWords(limits.sample.ofClients)} clients: a sample.
        </p>
      )}
    </Panel>
  );
}
