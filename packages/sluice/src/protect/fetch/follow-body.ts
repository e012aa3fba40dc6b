/**
 * A caller's signal ends the reading of a body too, as it does with `fetch` itself. By then the protections have let go of the signal,
 * and nobody says when a body is done: whoever got the response may read it, or drop it. So the signal holds the request weakly, the
 * body holds it, and when the body is gone the signal forgets about it. (`AbortSignal.any` on a signal that lives for as long as the
 * process keeps something of every request for as long.)
 */
import { whenAborted } from '../when-aborted.ts';

const controllers = new WeakMap<object, AbortController>();
// Some runtimes have none: there a signal remembers its requests for as long as it lives.
const forgotten =
  typeof FinalizationRegistry === 'undefined' ? undefined : new FinalizationRegistry<() => void>((leave) => leave());

export function followBody(signal: AbortSignal, controller: AbortController, body: object): void {
  if (forgotten === undefined) {
    whenAborted(signal, () => controller.abort(signal.reason));
    return;
  }
  controllers.set(body, controller);
  forgotten.register(body, followWeakly(signal, new WeakRef(controller)));
}

/** A function of its own: functions that are made in one place keep all alive that any of them needs. */
function followWeakly(signal: AbortSignal, reference: WeakRef<AbortController>): () => void {
  return whenAborted(signal, () => reference.deref()?.abort(signal.reason));
}
