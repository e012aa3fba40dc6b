/** The gateway's upstreams: which members are called, and what their breakers say. */
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import type { LiveUpstream, LiveUpstreamMember } from './contract.ts';
import { countText } from './words.ts';

const circuits: Readonly<Record<LiveUpstreamMember['circuit'], { readonly text: string; readonly look: string }>> = {
  closed: { text: '● closed', look: 'good' },
  open: { text: '✕ open', look: 'bad' },
  'half-open': { text: '◐ half-open', look: 'doubtful' },
  none: { text: '– none', look: 'quiet' },
};

const columns: readonly Column<LiveUpstreamMember>[] = [
  { title: 'Member', cell: ({ id }) => <code>{id}</code> },
  { title: 'Circuit', cell: ({ circuit }) => <span class={circuits[circuit].look}>{circuits[circuit].text}</span> },
  { title: 'Usable', cell: ({ isUsable }) => (isUsable ? 'yes' : <span class="bad">no</span>) },
  { title: 'In flight', isNumber: true, cell: ({ inFlight }) => countText(inFlight) },
];

export function GatewayPanel({ upstreams }: { readonly upstreams: readonly LiveUpstream[] }) {
  return (
    <Panel title="Upstreams" class="live-wide">
      <div class="upstreams">
        {upstreams.map(({ name, members }) => (
          <div key={name}>
            <h3>
              {name} <span class="quiet">{usableText(members)}</span>
            </h3>
            <DataTable
              caption={`Members of ${name}`}
              columns={columns}
              rows={members}
              keyOf={({ id }) => id}
              whenEmpty="It has no members, so nothing can be forwarded."
            />
          </div>
        ))}
      </div>
    </Panel>
  );
}

function usableText(members: readonly LiveUpstreamMember[]): string {
  return `${members.filter(({ isUsable }) => isUsable).length} of ${members.length} usable`;
}
