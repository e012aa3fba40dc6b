import { startSluice } from '@sluice/test-servers';
import { command, throttleClient } from './resp-client.mjs';

const rounds = 20;
const limit = 50;

// What memory held is gone after kill -9: a key may then be used up once more, and no more than once more.
export async function soak() {
  const service = await startSluice({ config: 'workers: 2\n' });
  let restarts = 0;
  let worst = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      let allowed = 0;
      const clients = await Promise.all(Array.from({ length: 4 }, () => throttleClient(service.respPort)));
      const callers = clients.map(async ({ send }) => {
        for (let i = 0; i < 100_000; i += 1) {
          try {
            const replies = await send(command(['CL.THROTTLE', `round-${round}`, limit - 1, 1, 86_400]), 1);
            if (replies[0]?.[0] === 0) allowed += 1;
          } catch {
            // The process was killed: that is what this is about.
            return;
          }
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 50 + 10 * round));
      await service.end('SIGKILL');
      await Promise.all(callers);
      await service.restart();
      restarts += 1;
      worst = Math.max(worst, allowed);
      if (allowed > limit) throw new Error(`${allowed} of ${limit} were allowed before the kill`);
    }
    console.log(`  ${restarts} kills and restarts; at most ${worst} of ${limit} allowed in one life of the process`);
  } finally {
    await service.stop();
  }
}
