// Queues of tasks with priorities, lower first; p-queue has it the other way round.
import { priorityScheduler } from 'sluice/schedule';
import { requirePeer } from '../http/contender.mjs';

/**
 * `add` says who the task is to `change`.
 * @typedef {{
 *   add(task: () => Promise<unknown>, priority: number): string,
 *   change?(id: string | undefined, priority: number): void,
 * }} Queue
 */

const { default: PQueue } = await import(requirePeer.resolve('p-queue'));
const Bottleneck = requirePeer('bottleneck');

/** @type {Record<string, (concurrency: number) => Queue>} */
export const queues = {
  'sluice priorityScheduler': (concurrency) => {
    const scheduler = priorityScheduler({ concurrency });
    let latest = 0;
    return {
      add(task, priority) {
        latest += 1;
        const id = String(latest);
        void scheduler.run(task, { priority, id });
        return id;
      },
      change: (id = '', priority) => scheduler.update(id, { priority }),
    };
  },
  'p-queue': (concurrency) => {
    const queue = new PQueue({ concurrency });
    let latest = 0;
    return {
      add(task, priority) {
        latest += 1;
        const id = String(latest);
        void queue.add(task, { priority: -priority, id });
        return id;
      },
      change: (id = '', priority) => queue.setPriority(id, -priority),
    };
  },
  bottleneck: (concurrency) => {
    const limiter = new Bottleneck({ maxConcurrent: concurrency });
    return {
      add(task, priority) {
        void limiter.schedule({ priority }, task);
        return '';
      },
    };
  },
};
