/** A scheduler answers as its tasks do, and what cannot be is a mistake already here: this file only has to compile. */
import { fairScheduler } from './fair/fair-scheduler.ts';
import { leakyQueue } from './leaky-queue/leaky-queue.ts';
import { priorityScheduler } from './priority/priority-scheduler.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;
declare const signal: AbortSignal | undefined;
declare const priority: number | undefined;

const mail = priorityScheduler<string>({ ageingMs: 1000, shed: 'lowest-priority' });
const next = mail.next();
same<typeof next, string | undefined>(true);
const id = mail.submit('newsletter', { priority, signal, atMs: 0 });
same<typeof id, string | number | undefined>(true);
mail.on('shed', ({ task, policy }) => [task.id, policy]);
// @ts-expect-error It holds text.
mail.submit(5);
// @ts-expect-error
mail.submit('newsletter', { prio: 5 });
// @ts-expect-error The time of what runs is the clock's.
void mail.run(() => 1, { atMs: 0 });
// @ts-expect-error
mail.update('newsletter', {});
// @ts-expect-error
mail.on('finished', () => {});
// @ts-expect-error
priorityScheduler({ shed: 'random' });
// @ts-expect-error
priorityScheduler({ ageing: 5 });

const fair = fairScheduler();
fair.add('free');
fair.add('paid', { weight: 3 });
fair.add('batch', { nice: 10 });
// @ts-expect-error A nice level or a weight, and not both.
fair.add('torn', { nice: 1, weight: 2 });
// @ts-expect-error Whose is it?
void fair.run(() => 1);
// @ts-expect-error
void fair.run(() => 1, { priority: 1, tenant: 'free' });

const queue = leakyQueue<number>({ limit: 10, window: '1s', capacity: 100 });
const item = queue.dequeue();
same<typeof item, number | undefined>(true);
// @ts-expect-error
queue.enqueue('text');
// @ts-expect-error Everything has a bound.
leakyQueue({ limit: 10, window: '1s' });
// @ts-expect-error
leakyQueue({ limit: 10, window: 'soon', capacity: 100 });

export async function answers(): Promise<void> {
  const one = await mail.run(() => 1, { priority, signal });
  same<typeof one, number>(true);
  const two = await fair.run(async (ofTask) => ofTask?.aborted, { tenant: 'free', signal });
  same<typeof two, boolean | undefined>(true);
  const three = await queue.run(async () => 'text', { deadlineMs: 5 });
  same<typeof three, string>(true);
}
