// Processes that are told what to do, one word at a time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onCore } from '../service/cores.mjs';

// Longer than anything takes: a process that says nothing must not keep the command.
const longestMs = 60_000;

/**
 * One of the scripts in this folder.
 * @param {string | undefined} core
 * @param {string} script
 * @param {readonly string[]} args
 */
export async function startProcess(core, script, args = []) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(...onCore(core, process.execPath, [path, ...args]), {
    // The parent has no use for what it prints; what is wrong with it is to be seen.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const ended = once(child, 'exit');
  const name = [script, ...args].join(' ');

  /** @returns {Promise<any>} */
  async function nextMessage() {
    const signal = AbortSignal.timeout(longestMs);
    const isOver = ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)));
    const [message] = await Promise.race([once(child, 'message', { signal }), isOver]);
    return message;
  }

  return {
    first: await nextMessage(),
    /** @param {import('node:child_process').Serializable} word */
    ask(word) {
      const answer = nextMessage();
      child.send(word);
      return answer;
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
