/** An admission: how many requests are under way at once, how many wait, and who of them goes next. */
import {
  choice,
  duration,
  durationOrZero,
  mapOf,
  number,
  type SettingSchema,
  section,
  wholeNumber,
} from './schema-kinds.ts';
import { source } from './source-schema.ts';

const weight = { from: 0.01, to: 1_000_000 };

/** Found by measuring, between two bounds. */
export const adaptiveSchema = section(
  { description: 'A limit that is found by measuring.' },
  {
    algorithm: choice(['aimd', 'vegas', 'gradient'], { description: 'How it is found.', default: 'gradient' }),
    min: wholeNumber({ from: 1, to: 1_000_000 }, { description: 'It never falls below.', default: 1 }),
    max: wholeNumber({ from: 1, to: 1_000_000 }, { description: 'It never rises above.', default: 200 }),
  },
);

const concurrency: SettingSchema = {
  ...adaptiveSchema,
  type: ['integer', 'object'],
  description:
    'How many requests are under way at once: a number, or how it is found by measuring, as it is unless given.',
  examples: [100, { algorithm: 'gradient', min: 5, max: 500 }],
  minimum: 1,
  maximum: 1_000_000,
  errorMessage: 'must be a whole number from 1 to 1000000, or a map of algorithm, min, max',
};

export const admissionSchema = section(
  { description: 'How many requests are under way at once, and who goes next.' },
  {
    concurrency,
    queue: wholeNumber(
      { from: 0, to: 1_000_000 },
      {
        description: 'How many may wait beyond that. The rest is shed: 503, and when to come back.',
        default: 1000,
      },
    ),
    queueTimeout: duration({ description: 'Who has waited for so long is shed.', default: '1s' }),
    tenant: source({ description: 'Who shares fairly with whom. Everybody is one unless given.' }),
    weights: mapOf(
      {
        description: 'Shares of tenants by their names: 3 gets three times as much as 1.',
        examples: [{ gold: 3, free: 1 }],
        default: {},
      },
      number(weight, { description: 'Its share beside the others.' }),
      'of weights by tenant, such as { gold: 3, free: 1 }',
    ),
    defaultWeight: number(weight, { description: 'The share of a tenant that `weights` does not name.', default: 1 }),
    priority: source({
      description:
        'How urgent a request is: 0 goes before 9, or one of the words in `priorities`. That of the route where a request does not say.',
    }),
    priorities: mapOf(
      { description: 'Words for priorities.', examples: [{ high: 1, low: 9 }], default: {} },
      wholeNumber({ from: 0, to: 9 }, { description: 'The priority it stands for.' }),
      'of priorities by word, such as { high: 1, low: 9 }',
    ),
    ageing: durationOrZero({
      description:
        'After each of these a request that waits counts as one priority better, so that none waits for ever. 0: never.',
      default: '1s',
    }),
  },
);
