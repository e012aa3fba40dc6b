/** What a ring costs that is large: a pick, and one change of its members with the pick that follows it. */
import { hashRing } from './hash-ring.ts';

const members = Array.from({ length: 10_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}:8080`);
const keys = Array.from({ length: 4096 }, (_, i) => `user-${i}`);

function picks(options: Parameters<typeof hashRing>[1]) {
  const ring = hashRing(members, options);
  return (iterations: number) => {
    for (let i = 0; i < iterations; i += 1) ring.pick(keys[i & 4095])?.done();
  };
}

const changing = hashRing(members);

export default {
  name: 'hash ring of 10,000 members, 1,500,000 points',
  cases: [
    { name: 'pick and done', run: picks({}) },
    { name: 'pick and done, bounded load', run: picks({ loadFactor: 1.25 }) },
    { name: 'pick and done, like ketama', run: picks({ compatibleWith: 'ketama' }) },
    {
      name: 'add a member, pick, remove it, pick',
      run(iterations: number) {
        for (let i = 0; i < iterations; i += 1) {
          changing.add('newcomer');
          changing.pick('key')?.done();
          changing.remove('newcomer');
          changing.pick('key')?.done();
        }
      },
    },
    {
      name: 'build it',
      run(iterations: number) {
        for (let i = 0; i < iterations; i += 1) hashRing(members);
      },
    },
  ],
};
