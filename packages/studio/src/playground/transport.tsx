/** Time: pause, step, speed, from the beginning; a call by hand; and what can be taken along. */
import { useState } from 'preact/hooks';
import { Slider } from '../parts/slider.tsx';
import { decisionLines } from './decision-lines.ts';
import type { Player } from './player.ts';
import { mostHandCalls, runEndMs } from './settings.ts';
import { durationText, momentText } from './time-text.ts';
import { useTicks } from './use-ticks.ts';

const speeds = [0.25, 0.5, 1, 2, 5, 10, 20];
const runEnds = `A run ends after ${durationText(runEndMs)}; restart for another.`;

interface TransportProps {
  readonly player: Player;
  readonly speed: number;
  readonly onSpeed: (speed: number) => void;
  /** The address of what is shown, as of now. */
  readonly link: () => string;
}

export function Transport({ player, speed, onSpeed, link }: TransportProps) {
  useTicks(player, 100);
  const isFull = player.engine.handCallsMs.length >= mostHandCalls;
  return (
    <div class="transport">
      <div class="transport-buttons">
        <button
          type="button"
          class="primary play"
          aria-keyshortcuts="Space"
          title={player.isAtEnd ? runEnds : undefined}
          disabled={player.isAtEnd}
          onClick={() => (player.isPlaying ? player.pause() : player.play())}
        >
          {player.isPlaying ? 'Pause' : 'Play'}
        </button>
        <button
          type="button"
          aria-keyshortcuts="S"
          title={player.isAtEnd ? runEnds : 'To the next call'}
          disabled={player.isAtEnd}
          onClick={() => {
            player.stepOnce();
          }}
        >
          Step
        </button>
        <button type="button" title="From the beginning" onClick={() => player.restart()}>
          Restart
        </button>
        <button
          type="button"
          aria-keyshortcuts="C"
          title={isFull ? `${mostHandCalls} calls by hand are enough; restart for more` : 'One more call, by hand'}
          disabled={isFull}
          onClick={() => player.callNow()}
        >
          Call now
        </button>
      </div>
      <div class="transport-speed">
        <Slider label="Speed" value={speed} values={speeds} text={(value) => `${value}×`} onChange={onSpeed} />
      </div>
      <span class="transport-time" role="timer" aria-label="Simulated time">
        {momentText(player.engine.nowMs)}
      </span>
      {player.isAtEnd && (
        <p role="status" class="transport-end quiet">
          {runEnds}
        </p>
      )}
      <div class="transport-take">
        <CopyLink link={link} />
        <button type="button" title="As JSON lines" onClick={() => save(decisionLines(player.engine))}>
          Save decisions
        </button>
      </div>
    </div>
  );
}

type Copied = 'Copy link' | 'Link copied' | 'Copy it from the address bar';

function CopyLink({ link }: Pick<TransportProps, 'link'>) {
  const [text, setText] = useState<Copied>('Copy link');
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(link());
      setText('Link copied');
    } catch {
      // Over plain HTTP from another machine the browser has no clipboard for us.
      setText('Copy it from the address bar');
    }
  }
  return (
    <button type="button" onClick={() => void copy()} onBlur={() => setText('Copy link')}>
      {text}
    </button>
  );
}

function save(lines: string): void {
  const address = URL.createObjectURL(new Blob([lines], { type: 'application/x-ndjson' }));
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = 'sluice-playground.jsonl';
  anchor.click();
  // The browser reads it after the click has been dealt with.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
