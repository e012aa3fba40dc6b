/** The classic mistakes in a set-up, each told once, with where to read on. */
import type { Store } from '../../stores/store.ts';
import { isPromise } from '../../vocabulary/answer.ts';

/** In the package, and in the repository under packages. */
const help = 'sluice/src/http/README.md';

const messages = {
  'proxy-not-trusted': `There is an X-Forwarded-For or Forwarded header, but no proxy is trusted: behind a proxy all callers are limited as one. Say how many proxies you run with trustProxy: 0 if there are none. See ${help}#behind-a-proxy`,
  'everyone-trusted': `The framework trusts every proxy, so any caller can choose the address he is limited by. Trust a number of proxies, or their addresses. See ${help}#behind-a-proxy`,
  'no-address': `A request has no address, and is limited together with all others that have none. Give a key; or trustProxy, where a proxy says it; or address, where the middleware takes one. See ${help}#behind-a-proxy`,
  'memory-in-cluster': `This process is one of a cluster, and the limits are counted in its own memory: together they allow as many times more. Use a shared store such as redisStore. See ${help}#many-processes`,
  'mounted-twice': `One rateLimit() saw the same request twice and counted it twice. Mount it once, or make two with names of their own. See ${help}#mounted-twice`,
  'name-taken': `Two policies go by one name in one store: they share their keys, and each counts what the other let in. Give each rateLimit() a name of its own. See ${help}#options`,
  'no-guard': `RateLimitModule is imported, but no RateLimitGuard stands before what has no @RateLimit(), so that is not limited. Add { provide: APP_GUARD, useClass: RateLimitGuard } to the providers of a module, or say global: false. See sluice/src/http/nest/README.md#mistakes`,
} as const;

export type Mistake = keyof typeof messages;

/** The part of Node's `process` that is used, where there is one. */
interface ProcessLike {
  emitWarning?(message: string, options: { type: string; code: string }): void;
  getBuiltinModule?(name: string): { readonly isWorker?: boolean } | undefined;
}

const { process } = globalThis as { process?: ProcessLike };

/** Warns of each mistake once. */
export function warnings(warn: ((message: string) => void) | false | undefined): (mistake: Mistake) => void {
  const told = new Set<Mistake>();
  return (mistake) => {
    if (told.has(mistake)) return;
    told.add(mistake);
    if (warn === undefined) warnProcess(messages[mistake], mistake);
    else if (warn !== false) whenItFails(warn(messages[mistake]), warnOfError);
  };
}

export function warnProcess(message: string, code: string): void {
  if (process?.emitWarning) process.emitWarning(message, { type: 'SluiceWarning', code });
  else console.warn(`SluiceWarning: ${message}`);
}

export function warnOfError(error: unknown): void {
  warnProcess(`rateLimit: ${error}`, 'rate-limit-error');
}

/**
 * For who was told of something and may be at it still, as `async` functions are: nobody waits for them, and an error of theirs that nobody hears of
 * would end the process.
 */
export function whenItFails(told: unknown, hear: (error: unknown) => void): void {
  if (isPromise(told)) Promise.resolve(told).catch(hear);
}

/** Whether this is one of several processes of a cluster, and the store is known to this one only. */
export function countsAlone(store: Store | undefined): boolean {
  const isLocal = store === undefined || store.mode === 'sync';
  return isLocal && process?.getBuiltinModule?.('node:cluster')?.isWorker === true;
}
