// A migration guide says what becomes of every option of the other library. Its own types say which those are.
import { expect, test } from 'vitest';
import { read } from './repository.ts';

interface Guide {
  readonly guide: string;
  /** The library's types. */
  readonly types: string;
  /** Which of the types in there are options. */
  readonly isOptions: RegExp;
}

const guides: readonly Guide[] = [
  {
    guide: 'docs/guides/migrating-from-express-rate-limit.md',
    types: 'node_modules/express-rate-limit/dist/index.d.ts',
    isOptions: /^Options$/,
  },
  {
    guide: 'docs/guides/migrating-from-rate-limiter-flexible.md',
    types: 'node_modules/rate-limiter-flexible/types.d.ts',
    isOptions: /^I(RateLimiter|RLWrapper)(?!MongoFunction)\w*Opt(ion)?s(AndSchema)?$/,
  },
];

const declaration = /^(?:export )?(?:interface|type) (\w+)[^{;]*\{\n([\s\S]*?)^\};?$/gm;
const comments = /\/\*[\s\S]*?\*\//g;
// Of the first level only: what stands further in belongs to an option.
const field = /^(?: {4}|\t)(\w+)\??(?=[:(])/gm;

function optionsIn(types: string, isOptions: RegExp): string[] {
  const found = [...types.replace(comments, '').matchAll(declaration)]
    .filter(([, name = '']) => isOptions.test(name))
    .flatMap(([, , body = '']) => [...body.matchAll(field)].map(([, name = '']) => name));
  return [...new Set(found)].sort();
}

/** What stands in backticks in the first column of the first table under the heading. */
function optionsOf(page: string): string[] {
  const [, table = ''] = /^## Every option\n\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const cells = table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).sort();
}

test.each(guides)('$guide has every option, once, and no other', ({ guide, types, isOptions }) => {
  const options = optionsIn(read(types), isOptions);
  expect(options.length).toBeGreaterThan(15);
  expect(optionsOf(read(guide))).toEqual(options);
});

test('options are read from types', () => {
  const types = `
export type Options = {
	/** { not: this } */
	one: number;
	two?: { three: number };
	four?(key: any): boolean;
};
interface Other {
    five: number;
}
`;
  expect(optionsIn(types, /^Options$/)).toEqual(['four', 'one', 'two']);
});
