/** A route: which requests it is about, and what is done with them. */
import { durationOrZero, mapOf, type SettingSchema, section, text, texts, wholeNumber } from './schema-kinds.ts';

const name: SettingSchema = {
  type: 'string',
  description: 'Names the route in metrics and the access log, and is the field `route` of the subject.',
  minLength: 1,
  maxLength: 128,
  errorMessage: 'must be text of 1 to 128 characters',
};

const match: SettingSchema = {
  ...section(
    { description: 'Which requests: all that is given must match, with `*` for any text. All requests unless given.' },
    {
      host: texts(
        { description: 'The host that was asked for, in any case.', examples: ['api.example.com', '*.example.com'] },
        {
          pattern: '^(\\[[0-9a-fA-F:.]+\\]|[\\w.*-]+)$',
          mustBe: 'a host such as api.example.com or *.example.com, without a port',
        },
      ),
      path: texts(
        {
          description:
            'The path without its query, decoded, steps back taken. `/v1/*` is what is under `/v1/`; for `/v1` itself name it too.',
          examples: ['/v1/*', ['/v1', '/v1/*']],
        },
        { pattern: '^[/*][^\\s?#]*$', mustBe: 'a path such as /v1 or /v1/*, which begins with / and has no query' },
      ),
      method: texts(
        { description: 'The method.', examples: ['GET', ['GET', 'HEAD']] },
        { pattern: '^[A-Za-z*-]+$', mustBe: 'a method such as GET' },
      ),
      headers: mapOf(
        {
          description: 'Headers that must be there, and their values. `"*"` is any value.',
          examples: [{ 'x-beta': '*' }],
        },
        {
          type: ['string', 'number', 'boolean'],
          description: 'The value; `*` in it stands for any text.',
          errorMessage: 'must be text, such as "*" for any',
        },
        'of headers and their values, such as { x-beta: "*" }',
      ),
    },
  ),
  minProperties: 1,
};

export const routeSchema: SettingSchema = {
  ...section(
    { description: 'Which requests go where, and what holds for them.' },
    {
      name,
      match,
      upstream: text({ description: 'Where they go: the name of an upstream. The only one unless given.' }),
      rules: {
        type: ['array', 'string'],
        description:
          'Names of the rules that hold here, each where its own `match` says so. All rules unless given; [] for none.',
        examples: [['per-ip']],
        minLength: 1,
        items: text({ description: 'The name of a rule.' }),
        errorMessage: 'must be the name of a rule, or a list of names',
      },
      admission: text({ description: 'The name of an admission. Everybody at once unless given.' }),
      priority: wholeNumber(
        { from: 0, to: 9 },
        {
          description: 'How urgent its requests are, where they do not say so themselves: 0 goes before 9.',
          default: 5,
        },
      ),
      stripPrefix: {
        ...text({
          description:
            'What is cut off the front of the path before it is forwarded: with `/v1`, `/v1/users` is `/users`.',
          examples: ['/v1'],
        }),
        pattern: '^(/[^\\s?#*%\\\\/]+)+$',
        errorMessage: 'must be a path such as /v1, without a slash at its end',
      },
      maxDelay: durationOrZero({
        description: 'Requests that a policy delays wait for at most so long; what would wait longer is refused.',
        default: '30s',
      }),
    },
    ['name'],
  ),
  errorMessage: 'must be a map such as { name: api, match: { path: /v1/* }, upstream: api }',
};
