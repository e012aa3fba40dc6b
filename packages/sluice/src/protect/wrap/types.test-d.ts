/** What comes out is what the call gives, or what a fallback gives instead: this file only has to compile. */
import { circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { type Fallback, fallback } from '../fallback/fallback.ts';
import type { Protection } from '../protection.ts';
import { retry } from '../retry/retry.ts';
import { timeout } from '../timeout/timeout.ts';
import { wrap } from './wrap.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;
declare const call: (signal?: AbortSignal) => Promise<number>;

// Without a fallback it is a Protection like any other.
export const plain: Protection = wrap(retry(), circuitBreaker(), wrap(timeout('1s')));
export const list: Protection[] = [retry(), plain];
export const ofList: Protection = wrap(...list);

const text = fallback('none');
const later = fallback(async () => null);
same<typeof text, Fallback<string>>(true);
same<typeof later, Fallback<null>>(true);

// @ts-expect-error It may answer with text, whatever the call gives.
export const wrong: Protection = text;
// @ts-expect-error It has no run().
wrap(retry(), retry);

export async function answers(): Promise<void> {
  const one = await wrap(retry(), timeout('1s')).run(call);
  same<typeof one, number>(true);
  const two = await wrap(text, retry()).run(call);
  same<typeof two, number | string>(true);
  const three = await wrap(text, wrap(later, circuitBreaker())).run(call);
  same<typeof three, number | string | null>(true);
  const four = await text.run(() => 'text too');
  same<typeof four, string>(true);
}
