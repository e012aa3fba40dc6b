/** The nodes of a cluster and what they own. A shard's number says whose it is, its colour only repeats it. */
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import type { LiveCluster, LiveMember } from './contract.ts';
import type { History } from './history.ts';
import { type ShardCounts, shardCounts, shardWords, slotsOfShard } from './shards.ts';
import { countText } from './words.ts';

interface ClusterPanelProps {
  readonly cluster: LiveCluster;
  readonly atMs: number;
  readonly moves: History['moves'];
  readonly numbers: History['numbers'];
}

interface Row {
  readonly number: number;
  readonly member: LiveMember;
  readonly counts: ShardCounts;
}

/** How long a move stays marked: a second is too short to be seen. */
const markedMs = 10_000;
const colours = 8;

const columns: readonly Column<Row>[] = [
  { title: 'No.', cell: ({ number }) => <span class={`shard ${colourOf(number)}`}>{number}</span> },
  {
    title: 'Member',
    cell: ({ member: { id, address, isSelf, isLeaving } }) => (
      <>
        {address}
        {isSelf && <span class="quiet"> this node</span>}
        {isLeaving && <span class="bad"> leaving</span>}
        <code class="second-line rule-name quiet" title={id}>
          {id}
        </code>
      </>
    ),
  },
  { title: 'Owns', isNumber: true, cell: ({ counts }) => countText(counts.owned) },
  { title: 'Standby', isNumber: true, cell: ({ counts }) => countText(counts.standby) },
];

export function ClusterPanel({ cluster, atMs, moves, numbers }: ClusterPanelProps) {
  const counts = shardCounts(cluster);
  const isMarked = moves !== undefined && atMs - moves.atMs < markedMs;
  const words = shardWords(cluster);
  return (
    <Panel title="Cluster" class="live-wide" aside={<span class="quiet">revision {countText(cluster.revision)}</span>}>
      <div class="cluster">
        <DataTable
          caption="Nodes"
          columns={columns}
          rows={cluster.members.map((member, place) => ({
            number: numbers.get(member.id)!,
            member,
            counts: counts[place]!,
          }))}
          keyOf={({ member }) => member.id}
          whenEmpty="No members: nobody owns anything, and everything is refused."
        />
        <div>
          <p class={cluster.owners.includes(-1) ? 'bad' : undefined}>{words}</p>
          <p role="status" class="cluster-moves">
            {isMarked ? moves.words : ''}
          </p>
          <Strip cluster={cluster} moved={isMarked ? moves.shards : nothing} words={words} numbers={numbers} />
        </div>
      </div>
    </Panel>
  );
}

const nothing: ReadonlySet<number> = new Set();

interface StripProps {
  readonly cluster: LiveCluster;
  readonly moved: ReadonlySet<number>;
  readonly words: string;
  readonly numbers: History['numbers'];
}

function Strip({ cluster, moved, words, numbers }: StripProps) {
  const { members, owners, standbys } = cluster;
  const nameOf = (place: number | undefined) => members[place ?? -1]?.address ?? 'nobody';
  return (
    <div class="shards" role="img" aria-label={`Shards by owner. ${words}`}>
      {owners.map((place, shard) => {
        const { first, last } = slotsOfShard(shard, owners.length);
        const owner = members[place];
        const number = owner && numbers.get(owner.id);
        return (
          <span
            key={shard}
            class={`shard ${number === undefined ? 'shard-unowned' : colourOf(number)}${moved.has(shard) ? ' shard-moved' : ''}`}
            title={`Shard ${shard}, slots ${first} to ${last}: owner ${nameOf(place)}, standby ${nameOf(standbys[shard])}`}
          >
            {number ?? '✕'}
          </span>
        );
      })}
    </div>
  );
}

function colourOf(number: number): string {
  return `shard-${(number - 1) % colours}`;
}
