/** A rule as it is written in the file: what it limits, and its policy's fields beside. `parseRules` of the library reads it. */
import { algorithmNames } from 'sluice';
import {
  choice,
  duration,
  durationOrZero,
  flag,
  number,
  type SettingSchema,
  section,
  wholeNumber,
} from './schema-kinds.ts';

const match: Omit<SettingSchema, 'description'> = {
  type: 'object',
  minProperties: 1,
  additionalProperties: {
    type: ['string', 'number', 'boolean', 'array'],
    description: 'A value; `*` in it stands for any text. A list means any of them.',
    minItems: 1,
    items: {
      type: ['string', 'number', 'boolean'],
      description: 'One of the values.',
      errorMessage: 'must be text, such as /upload or /api/*',
    },
    errorMessage: 'must be text such as /upload or /api/*, or a list of texts',
  },
  errorMessage: 'must be a map of fields, such as { path: /upload, method: POST }',
};

/** A list of matches, or one. */
export function matches(description: string): SettingSchema {
  return {
    ...match,
    type: ['array', 'object'],
    description,
    default: [],
    items: { ...match, description: 'The fields of a subject, all of which must match.' },
    errorMessage: 'must be a list of matches, such as [{ ip: 10.0.0.* }]',
  };
}

/** The fields of a policy. Which of them an algorithm takes is the library's to say. */
export const policyFields: Readonly<Record<string, SettingSchema>> = {
  algorithm: choice(algorithmNames, { description: 'How it is counted. The README has a table that helps to choose.' }),
  limit: number({ above: 0 }, { description: 'How much may pass per `window`; for `concurrency`, how many at once.' }),
  window: duration({
    description: 'The time that `limit` is about. Every algorithm but `concurrency` needs it.',
    examples: ['1s', '1m', '1h', '1d'],
  }),
  burst: number(
    { from: 0 },
    {
      description:
        'How much may pass at once. `gcra`, `token-bucket`: `limit` unless given. `leaky-bucket`: how much may wait beyond the one being served, 0 unless given.',
    },
  ),
  initial: number({ from: 0 }, { description: '`token-bucket`: tokens a key starts with. `burst` unless given.' }),
  refill: choice(['continuous', 'interval'], {
    description: '`token-bucket`: evenly (`continuous`, unless given), or `limit` tokens at the end of each window.',
  }),
  delay: {
    type: ['string', 'number'],
    description:
      '`leaky-bucket`: who of the waiting is held back: `all` (unless given), `none`, or all but the first N of the excess.',
    minimum: 0,
    pattern: '^(all|none)$',
    errorMessage: 'must be all, none, or a number of 0 or more',
  },
  align: choice(['epoch', 'first'], {
    description: "`fixed-window`: windows begin at whole times (`epoch`, unless given), or at a key's `first` call.",
  }),
  wait: durationOrZero({ description: '`fixed-window`: the longest a caller may be told to wait for a later window.' }),
  slots: wholeNumber(
    { from: 1, to: 10_000 },
    { description: '`sliding-slots`: how many parts the window is cut into. 60 unless given.' },
  ),
  countRejected: flag({ description: '`sliding-log`: count refused calls too. False unless given.' }),
  minGap: duration({ description: '`sliding-log`: also refuse two calls closer than this.' }),
  maxBurst: number({ from: 0 }, { description: '`smooth`: permits that idle time may store.' }),
  warmup: duration({ description: '`smooth`: how long a cold limiter takes to reach its rate.' }),
  coldFactor: number({ from: 1 }, { description: '`smooth`: how much slower a cold limiter is. 3 unless given.' }),
  maxDelay: durationOrZero({ description: '`smooth`: the longest wait that is accepted.' }),
  lease: duration({ description: '`concurrency`: when a place that was not given back comes back. 1m unless given.' }),
};

const tier = section(
  { description: 'A policy; what it does not say itself it takes over from the rule.' },
  policyFields,
);

const rule = section(
  { description: 'A limit: who is limited, by which policy, and which requests it is about.' },
  {
    name: {
      type: 'string',
      description: 'Names the rule in answers and metrics, and its state in the store: a renamed rule starts anew.',
      minLength: 1,
      maxLength: 128,
      errorMessage: 'must be text of 1 to 128 characters',
    },
    key: {
      type: ['string', 'array'],
      description:
        'Who is limited: a field of the subject, a list of fields together, or `all` for one budget that everyone shares. A subject without the field, or with an empty one, is not limited by the rule.',
      default: 'all',
      examples: ['ip', 'user', ['user', 'path']],
      minLength: 1,
      minItems: 1,
      items: {
        type: 'string',
        description: 'A field of the subject.',
        minLength: 1,
        errorMessage: 'must be the name of a field',
      },
      errorMessage: 'must be a field such as ip, a list of fields such as [user, path], or all',
    },
    ...policyFields,
    match: {
      ...match,
      description:
        'Which requests it is about: all fields must match, with `*` for any text. All requests unless given.',
    },
    skip: { ...match, description: 'Requests it is not about.' },
    tiers: {
      type: 'object',
      description:
        "Policies by the subject's `tier`. A subject of another tier, or none, gets the rule's own policy if it has a `limit`, else the first tier's.",
      minProperties: 1,
      additionalProperties: tier,
      errorMessage: 'must be a map of policies by tier, such as { free: { limit: 10, window: 1m } }',
    },
    shadow: flag({ description: 'Evaluated, counted and reported, and never refuses.', default: false }),
    onStoreFailure: choice(['closed', 'open', 'local'], {
      description:
        "What happens when the store cannot answer: refuse (`closed`), allow (`open`), or decide in this process (`local`). That of the store's `onFailure` unless given.",
    }),
  },
  ['name'],
);

export const ruleSchema: SettingSchema = {
  ...rule,
  errorMessage: 'must be a map such as { name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m }',
};
