// `npm run soak [-- name...]`: what takes too long for `npm test`. Each soak prints what it sees and fails when a promise is broken.
import { build, installDependencies } from '../set-up.mjs';

const soaks = {
  flood: 'a flood of 20 million distinct keys: bounded memory, live limits kept',
  idle: '10,000 idle connections, and load beside them',
  kill: 'kill -9 under load, and restart, again and again',
  fire: 'the cluster under faults, each several times, and what each costs',
  cluster: 'the simulated cluster, seed after seed, until stopped (or --seeds n, --from seed; --seed n replays one)',
  properties:
    'everything that tests draw at random, with seed after seed, until stopped (or --seeds n, --minutes n; --from seed)',
};
/** These have options, and do not end by themselves: each runs alone, and only when it is named. */
const endless = ['cluster', 'properties'];

const words = process.argv.slice(2);
const options = endless.includes(words[0] ?? '') ? words.slice(1).filter((word) => word !== '--help') : [];
const names = words.filter((word) => !options.includes(word));
const unknown = names.filter((name) => !(name in soaks));
if (unknown.length > 0 || names.includes('--help')) {
  console.log('usage: npm run soak [-- name...]\n');
  for (const [name, what] of Object.entries(soaks)) console.log(`  ${name.padEnd(10)} ${what}`);
  process.exit(names.includes('--help') ? 0 : 2);
}
if (!installDependencies() || !build()) process.exit(1);

let failures = 0;
for (const [name, what] of Object.entries(soaks)) {
  if (names.length > 0 ? !names.includes(name) : endless.includes(name)) continue;
  console.log(`\n=== ${name}: ${what}`);
  const startMs = performance.now();
  try {
    const { soak } = await import(`./${name}.mjs`);
    await soak(options);
    console.log(`=== ${name}: ok in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  } catch (error) {
    failures += 1;
    console.error(`=== ${name}: FAILED`, error);
  }
}
process.exit(failures === 0 ? 0 : 1);
