/** What comes out of a balancer is what was put in, and what cannot be is a mistake already here: this file only has to compile. */
import type { Balancer, Member } from './balancer.ts';
import { hashRing } from './hash-ring/hash-ring.ts';
import { healthChecked } from './health/health-checked.ts';
import { peakEwma } from './peak-ewma/peak-ewma.ts';
import { roundRobin } from './round-robin/round-robin.ts';
import { twoChoices } from './two-choices/two-choices.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;

interface Upstream extends Member {
  readonly url: string;
}
declare const ids: readonly string[];
declare const upstreams: readonly Upstream[];

// Ids alone, members alone, or both.
const plain = roundRobin(['A', 'B']);
same<typeof plain, Balancer>(true);
const ofList = roundRobin(ids);
same<typeof ofList, Balancer>(true);
const mixed = twoChoices(['A', { id: 'B', weight: 2 }]);
same<typeof mixed, Balancer>(true);
plain.add('C');
plain.add({ id: 'D', weight: 3 });

// Fields of one's own travel with the member.
const own = hashRing(upstreams);
same<typeof own, Balancer<Upstream>>(true);
const written = peakEwma([{ id: 'a', url: 'http://a.test' }], { decay: '5s' });
export const url: string | undefined = written.pick()?.member.url;
own.update('a', { url: 'http://b.test', weight: 2 });
// @ts-expect-error An id is not all there is to say of an upstream.
own.add('b');
// @ts-expect-error A member keeps its id.
own.update('a', { id: 'b' });

// One that begins empty says what it will hold.
const empty = roundRobin<Upstream>([]);
empty.add({ id: 'a', url: 'http://a.test' });

// Health is a balancer of the same members.
const healthy = healthChecked(own, { checks: { probe: async ({ url }, signal) => (await fetch(url, { signal })).ok } });
export const asBefore: Balancer<Upstream> = healthy;
healthy.on('change', ({ id, isHealthy, reasons }) => [id, isHealthy, reasons]);

// @ts-expect-error
roundRobin(['A'], { points: 3 });
// @ts-expect-error
roundRobin([{ weight: 2 }]);
// @ts-expect-error
roundRobin([{ id: 'A', weight: '2' }]);
// @ts-expect-error
hashRing(['A'], { compatibleWith: 'maglev' });
// @ts-expect-error
peakEwma(['A'], { decay: 'soon' });
// @ts-expect-error
plain.pick()?.done('great');
// @ts-expect-error
plain.pick('key', { except: ['A'] });
// @ts-expect-error
healthChecked(plain, { outliers: { ejectedShare: 0.5 } });
// @ts-expect-error
healthChecked(plain, { slowStart: {} });
// @ts-expect-error
healthy.on('changes', () => {});
