// A process of its own for whoever is measured: nobody's garbage is collected on somebody else's time, and who runs out of
// memory or of time ends alone.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

// Ten million keys take some of them a minute to load; nobody gets longer than this for one answer.
const longestMs = 150_000;

/**
 * @typedef {ReturnType<typeof startChild>} Child
 * @param {string} script beside this file
 * @param {readonly string[]} args
 * @param {readonly string[]} [flags] for node
 */
export function startChild(script, args, flags = []) {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, {
    execArgv: ['--expose-gc', '--max-old-space-size=12000', ...flags],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  // Not 'exit': what it wrote last may not have been read by then.
  const closed = once(child, 'close').then(() => ({ failure: reasonOf(errors) }));

  /**
   * What the child sends next; if it sends nothing, why.
   * @returns {Promise<any>}
   */
  async function next() {
    const settled = new AbortController();
    const { signal } = settled;
    const answer = await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message),
      sleep(longestMs, { failure: `no answer within ${longestMs / 1000} s` }, { signal }),
      closed,
    ]);
    settled.abort();
    if (answer.failure) stop();
    return answer;
  }

  /** @param {string | object} word */
  function ask(word) {
    // With a callback, a child that is gone is no exception here: `next` tells.
    child.send(word, () => {});
    return next();
  }

  function stop() {
    // Not a polite signal: a child in the middle of a million calls would not hear it.
    child.kill('SIGKILL');
  }

  return { next, ask, stop };
}

/**
 * What a script has to say that says one thing.
 * @param {string} script
 * @param {readonly string[]} args
 * @param {readonly string[]} [flags]
 */
export async function answerOf(script, args, flags) {
  const child = startChild(script, args, flags);
  const answer = await child.next();
  child.stop();
  return answer;
}

/** @param {string} errors */
function reasonOf(errors) {
  const line = errors.split('\n').find((text) => /error|fatal/i.test(text)) ?? 'it stopped';
  return line.trim().slice(0, 100);
}
