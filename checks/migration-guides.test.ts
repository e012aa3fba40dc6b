// A migration guide says what becomes of every option of the other library. Its own types say which those are.
import { expect, test } from 'vitest';
import { read } from './repository.ts';

interface Guide {
  readonly guide: string;
  /** The library's types. */
  readonly types: string;
  /** Which of the types in there are options. */
  readonly isOptions: RegExp;
  /** How far in they stand, inside of modules and namespaces. Default 0. */
  readonly indent?: number;
  /** How far in each level stands, where that is not 4 or a tab. */
  readonly step?: 2;
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
  {
    guide: 'docs/guides/migrating-from-bottleneck.md',
    types: 'node_modules/bottleneck/bottleneck.d.ts',
    isOptions: /^(Constructor|Job)Options$/,
    indent: 8,
  },
  {
    guide: 'docs/guides/migrating-from-fastify-rate-limit.md',
    types: 'node_modules/@fastify/rate-limit/types/index.d.ts',
    isOptions: /^(CreateRateLimit|RateLimit|RateLimitPlugin)Options$/,
    indent: 2,
    step: 2,
  },
];

const declaration = /^(?:export )?(?:interface|type) (\w+)[^{;\n]*\{\n([\s\S]*?)^\};?$/gm;
const comments = /\/\*[\s\S]*?\*\//g;
// Of the first level only: what stands further in belongs to an option.
const field = /^(?: {4,5}|\t)(?:readonly )?(\w+)\??(?=[:(])/gm;

function optionsIn(types: string, isOptions: RegExp, indent = 0, step = 4): string[] {
  const outdented = types
    .replace(new RegExp(`^ {${indent}}`, 'gm'), '')
    .replace(/^ +/gm, (own) => own.repeat(4 / step));
  const found = [...outdented.replace(comments, '').matchAll(declaration)]
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

test.each(guides)('$guide has every option, once, and no other', ({ guide, types, isOptions, indent, step }) => {
  const options = optionsIn(read(types), isOptions, indent, step);
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
  const inside = 'namespace N {\n    type Options = {\n        readonly one?: number;\n    };\n}\n';
  expect(optionsIn(inside, /^Options$/, 4)).toEqual(['one']);
  const narrow = 'interface Options {\n  one?: (\n    two: number\n  ) => void;\n}\n';
  expect(optionsIn(narrow, /^Options$/, 0, 2)).toEqual(['one']);
});
