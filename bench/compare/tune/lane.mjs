// One lap in a process of its own: `node lane.mjs <log> read|policy|whole`. Prints lines, seconds of processor time, megabytes.
import { logReader, policyReplay, traceRecorder } from '@sluice/tuner';
import { gcra } from 'sluice';
import { readLog } from '../../../packages/server/dist/tune/log-file.js';
import { tune } from '../../../packages/server/dist/tune/tune.js';

const [log = '', work = ''] = process.argv.slice(2);
let text = '';

/** @returns {Promise<number>} lines */
async function lap() {
  if (work === 'whole') {
    const write = (/** @type {string} */ written) => {
      text += written;
    };
    await tune({ logs: [log], json: true }, { environment: {}, stdout: { write }, stderr: { write } });
    return JSON.parse(text).read.lines;
  }
  const recorder = traceRecorder();
  const replay = work === 'policy' ? policyReplay(gcra({ limit: 20, window: '1m' })) : undefined;
  const reader = logReader({}, (line) => {
    recorder.take(line);
    replay?.take(line);
  });
  await readLog([log], (chunk) => reader.push(chunk));
  reader.end();
  recorder.finish();
  return reader.report().lines;
}

const before = process.cpuUsage();
const lines = await lap();
const { user, system } = process.cpuUsage(before);
const residentMegabytes = process.resourceUsage().maxRSS / 1000;
process.stdout.write(JSON.stringify({ lines, seconds: (user + system) / 1e6, residentMegabytes }));
