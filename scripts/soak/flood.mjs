import { startSluice } from '@sluice/test-servers';
import { command, throttleClient } from './resp-client.mjs';

const keys = 20_000_000;
const maxKeys = 1_000_000;
const perWrite = 1000;
const liveKeys = 200;
// One million keys of 72 bytes and the process itself, with room for what the collector has not taken yet.
const mostMb = 400;

export async function soak() {
  for (const workers of [1, 2]) {
    const service = await startSluice({
      config: `store: { type: memory, maxKeys: ${maxKeys} }\nworkers: ${workers}\n`,
    });
    try {
      await flood(service, workers);
    } finally {
      await service.stop();
    }
  }
}

/**
 * @param {import('@sluice/test-servers').SluiceService} service
 * @param {number} workers
 */
async function flood(service, workers) {
  const live = await throttleClient(service.respPort);
  const used = Array.from({ length: liveKeys }, (_, i) => command(['CL.THROTTLE', `live:${i}`, 99, 100, 86_400, 100]));
  await live.send(used.join(''), liveKeys);

  const clients = await Promise.all(Array.from({ length: 2 }, () => throttleClient(service.respPort)));
  let sent = 0;
  let most = 0;
  const startMs = performance.now();
  await Promise.all(
    clients.map(async ({ send }) => {
      while (sent < keys) {
        const from = sent;
        sent += perWrite;
        let text = '';
        for (let i = from; i < from + perWrite; i += 1) {
          text += `*5\r\n$11\r\nCL.THROTTLE\r\n$9\r\n${String(100_000_000 + i)}\r\n$1\r\n9\r\n$2\r\n10\r\n$2\r\n60\r\n`;
        }
        await send(text, perWrite);
        if (from % 1_000_000 === 0) {
          most = Math.max(most, service.residentMb());
          process.stdout.write(
            `\r  ${workers} thread(s): ${(from / 1e6).toFixed(0)} million keys, ${most.toFixed(0)} MB `,
          );
        }
      }
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  console.log(`\n  ${(keys / seconds / 1000).toFixed(0)},000 keys per second; at most ${most.toFixed(0)} MB resident`);

  // Anew: the first connection may have been idle for too long.
  const asking = await throttleClient(service.respPort);
  const replies = await asking.send(
    used
      .map((text) => text.replace('$3\r\n100\r\n$5\r\n86400\r\n$3\r\n100', '$3\r\n100\r\n$5\r\n86400\r\n$1\r\n1'))
      .join(''),
    liveKeys,
  );
  const forgotten = replies.filter(([limited]) => limited !== 1).length;
  console.log(`  ${liveKeys - forgotten} of ${liveKeys} keys that were used up are still refused`);
  for (const { end } of [live, asking, ...clients]) end();
  if (forgotten > 0) throw new Error(`${forgotten} used-up keys were forgotten`);
  if (most > mostMb) throw new Error(`it had ${most.toFixed(0)} MB in memory, ${mostMb} were expected at most`);
}
