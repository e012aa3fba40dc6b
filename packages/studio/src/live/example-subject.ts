/** A subject to start from, made of the configured rules: with it, every rule has its key and as many as possible apply. */
export type RuleData = Readonly<Record<string, unknown>>;

const known: Readonly<Record<string, string>> = {
  user: '42',
  ip: '203.0.113.9',
  path: '/',
  method: 'GET',
  host: 'example.com',
};

export function exampleSubject(rules: readonly RuleData[]): Record<string, string> {
  const subject: Record<string, string> = {};
  // What a match wants goes first: a field that is a key as well has to have that value.
  for (const { match } of rules) {
    for (const [field, wanted] of Object.entries(isMap(match) ? match : {})) {
      const one: unknown = Array.isArray(wanted) ? wanted[0] : wanted;
      if (typeof one === 'string') subject[field] ??= one.replaceAll('*', 'any');
    }
  }
  for (const { key = 'all', tiers } of rules) {
    for (const field of Array.isArray(key) ? key : [key]) {
      if (typeof field === 'string' && field !== 'all') subject[field] ??= known[field] ?? 'any';
    }
    const [tier] = Object.keys(isMap(tiers) ? tiers : {});
    if (tier !== undefined) subject.tier ??= tier;
  }
  return subject;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
