import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Member } from '../balancer.ts';
import { live } from '../conformance.test-support.ts';
import { roundRobin } from './round-robin.ts';

describe('roundRobin', () => {
  // biome-ignore format: aligned rows
  const rows: [string, string, string][] = [
    //  what happens                           the life              who is picked
    [ 'everybody in turn',                   '7',                  'A B C A B C A' ],
    [ 'who is out is passed over',           '2 -C 2 +C 3',        'A B A B C A B' ],
    [ 'who comes back keeps its place',      '4 -B 3 +B 4',        'A B C A C A C A B C A' ],
    [ 'its turn is next where it was next',  '1 -B +B 3',          'A B C A' ],
    [ 'all out',                             '1 -A -B -C 2 +B 2',  'A . . B B' ],
    [ 'a newcomer is last in the round',     '1 *D 5',             'A B C D A B' ],
    [ '... also when a round has ended',     '3 *D 4',             'A B C D A B C' ],
    [ 'who is removed hands its turn on',    '1 xB 3',             'A C A C' ],
    [ 'who returns by name is a newcomer',   '1 xA *A 5',          'A B C A B C' ],
    [ 'left out once',                       '1 !B 2',             'A C A B' ],
    [ 'nobody but who is left out',          'xB xC !A 1',         '. A' ],
    [ 'half a share is every second turn',   'B/2 10',             'A C A B C A C A B C' ],
    [ 'a quarter is every fourth',           'B/4 13',             'A C A C A C A B C A C A C' ],
    [ 'all of them slow: still in turn',     'A/4 B/4 C/4 6',      'A B C A B C' ],
  ];
  it.each(rows)('%s', (_, script, expected) => {
    expect(live(roundRobin<Member>(['A', 'B', 'C']), script)).toBe(expected);
  });

  it('pays no heed to weights', () => {
    expect(live(roundRobin<Member>([{ id: 'A', weight: 9 }, 'B']), '4')).toBe('A B A B');
  });

  it('picks whoever comes next in the order of arrival, whoever came, went, or was left out', () => {
    const step = fc.record({
      what: fc.constantFrom('pick', 'pick', 'pick', 'except', 'out', 'in', 'add', 'remove'),
      which: fc.nat({ max: 7 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (life) => {
        const balancer = roundRobin<Member>([]);
        const model: { id: string; arrival: number; isIn: boolean }[] = [];
        let last = -1;
        let arrivals = 0;
        for (const { what, which } of life) {
          const id = `m${which}`;
          const known = model.find((member) => member.id === id);
          if (what === 'pick' || what === 'except') {
            const possible = model.filter((member) => member.isIn && (what === 'pick' || member !== known));
            const expected = possible.find(({ arrival }) => arrival > last) ?? possible[0];
            last = expected?.arrival ?? last;
            const picked = balancer.pick(undefined, what === 'except' ? { except: new Set([id]) } : {});
            expect(picked?.member.id).toBe(expected?.id);
          } else if (what === 'add' && !known) {
            balancer.add(id);
            model.push({ id, arrival: arrivals++, isIn: true });
          } else if (what === 'remove' && known) {
            balancer.remove(id);
            model.splice(model.indexOf(known), 1);
          } else if (known) {
            known.isIn = what !== 'out';
            balancer.setShare(id, known.isIn ? 1 : 0);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
