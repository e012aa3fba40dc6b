/**
 * A service that can be overloaded: one worker, a queue with an end, refusals that cost work, and callers who give up.
 *
 *      call ─── room in the queue ───► │ · · · · · │ ───► work, 1 ───► answer, if the caller is still there
 *        │
 *        ├───── none ────────────────► to be refused ───► work, rejectionCost ───► "no"
 *        │
 *        └───── and too many to be refused already ─────► lost: the caller hears nothing
 *
 * Refusals go first: what has arrived must be read before it can be refused, and a worker that is busy with that gets to nothing
 * else. The service does not know who has given up, so it works for those as well; that work is wasted.
 */
import type { EventLoop } from '../events.ts';

export interface BackendOptions {
  /** Requests that it can answer in a second, if it does nothing else. */
  readonly capacityPerSecond: number;
  /** Requests that may wait. */
  readonly queueLength: number;
  /** The work of a refusal, as a share of the work of a request. */
  readonly rejectionCost: number;
  /** How long a caller waits for an answer. */
  readonly timeoutMs: number;
  /** Refusals that may be outstanding; as many connections as Node's servers let wait. Default 511. */
  readonly backlog?: number;
  /** `'fixed'`: every request is the same work; `'exponential'`: it varies as much as its mean. Default fixed. */
  readonly work?: 'fixed' | 'exponential';
}

/** What became of the calls so far. */
export interface BackendCounts {
  /** Calls that arrived. */
  arrived: number;
  /** Answered while the caller was there. */
  answered: number;
  /** Worked on for a caller who had given up. */
  wasted: number;
  refused: number;
  lost: number;
  timedOut: number;
}

export interface Backend {
  readonly counts: Readonly<BackendCounts>;
  /** Resolves when it is answered in time; rejects when it is refused, or not answered in time. */
  call(): Promise<void>;
}

interface Call {
  /** The caller hears the answer, once; false when it has given up. */
  end(error?: Error): boolean;
}

// One each: a stack for every one of a million would be most of the work here.
const refusedError = new Error('The service refused the call.');
const timedOutError = new Error('The service did not answer in time.');

export function backend(loop: EventLoop, options: BackendOptions): Backend {
  const { queueLength, rejectionCost, timeoutMs, backlog = 511, work = 'fixed' } = options;
  const workMs = 1000 / options.capacityPerSecond;
  const { exponential } = loop.random.fork();
  const counts: BackendCounts = { arrived: 0, answered: 0, wasted: 0, refused: 0, lost: 0, timedOut: 0 };
  const waiting = new Fifo<Call>();
  const toRefuse = new Fifo<Call>();
  let isBusy = false;

  function goOn(): void {
    const refusal = toRefuse.take();
    const request = refusal ? undefined : waiting.take();
    if (refusal) keepBusy(rejectionCost * workMs, () => refuse(refusal));
    if (request) keepBusy(work === 'fixed' ? workMs : exponential(workMs), () => answer(request));
  }

  function keepBusy(ms: number, done: () => void): void {
    isBusy = true;
    loop.at(loop.nowMs + ms, () => {
      isBusy = false;
      done();
      goOn();
    });
  }

  function answer(call: Call): void {
    counts[call.end() ? 'answered' : 'wasted'] += 1;
  }

  function refuse(call: Call): void {
    counts.refused += 1;
    call.end(refusedError);
  }

  function arrive(call: Call): void {
    counts.arrived += 1;
    if (waiting.size < queueLength) waiting.add(call);
    else if (toRefuse.size < backlog) toRefuse.add(call);
    else counts.lost += 1;
    if (!isBusy) goOn();
  }

  return {
    counts,
    call: () =>
      new Promise((resolve, reject) => {
        let isOver = false;
        const callOff = loop.at(loop.nowMs + timeoutMs, () => {
          isOver = true;
          counts.timedOut += 1;
          reject(timedOutError);
        });
        arrive({
          end(error) {
            if (isOver) return false;
            isOver = true;
            callOff();
            if (error) reject(error);
            else resolve();
            return true;
          },
        });
      }),
  };
}

/** A line, first come, first served. What has left is cut off now and then, not each time. */
class Fifo<T> {
  private items: T[] = [];
  private first = 0;

  get size(): number {
    return this.items.length - this.first;
  }

  add(item: T): void {
    this.items.push(item);
  }

  take(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.items[this.first];
    this.first += 1;
    if (this.first > 1000) {
      this.items = this.items.slice(this.first);
      this.first = 0;
    }
    return item;
  }
}
