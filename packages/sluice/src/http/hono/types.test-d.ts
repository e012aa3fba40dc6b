/** Types flow from Hono, and an app's own survive a limiter in it: this file only has to compile. */
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { type Refused, rateLimit } from './index.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;

type AppEnv = { Bindings: { SECRET: string }; Variables: { user: string } };
const policy = gcra({ limit: 100, window: '1m' });
const app = new Hono<AppEnv>();

// Whatever the app, a request is a context.
export const limit = rateLimit({
  policy: (c) => {
    same<typeof c, Context>(true);
    return policy;
  },
  key: (c) => c.req.header('x-api-key'),
  skip: async (c) => c.req.path === '/health',
  cost: (c) => Number(c.req.query('size') ?? 1),
  costAfter(c, { status, isComplete, response }) {
    same<[typeof c, typeof response], [Context, Response]>(true);
    same<[typeof status, typeof isComplete], [number, boolean]>(true);
    return 1;
  },
  handler(c, refused) {
    same<[typeof c, typeof refused], [Context, Refused]>(true);
    return c.text('slow down', refused.status);
  },
  address: (c) => c.req.header('fly-client-ip'),
});
export const middleware: MiddlewareHandler = limit;

// And one of this app, where that is said: what `use` takes is of no app in particular.
const own = rateLimit<AppEnv>({
  policy,
  key: (c) => {
    same<typeof c, Context<AppEnv>>(true);
    same<[typeof c.env.SECRET, typeof c.var.user], [string, string]>(true);
    // @ts-expect-error The app has no such variable.
    c.get('nothing');
    return c.get('user');
  },
});

app.use(limit, own);
app.use('/api/*', own);
app.get('/users/:id', limit, own, (c) => {
  const id = c.req.param('id');
  same<typeof id, string>(true);
  same<typeof c.var.user, string>(true);
  const result = c.get('rateLimit');
  same<typeof result, RulesResult | undefined>(true);
  return c.json(result?.tightest?.remaining);
});
export const rules = rateLimit<AppEnv>({
  rules: [{ name: 'x', policy, key: 'user' }],
  subject: (c) => ({ user: c.var.user }),
});

// @ts-expect-error Nothing says what is limited.
rateLimit({});
// @ts-expect-error One policy, or rules.
rateLimit({ policy, rules: [] });
// @ts-expect-error Each rule has a key of its own.
rateLimit({ rules: [], key: () => 'x' });
// @ts-expect-error There is no such option.
rateLimit({ policy, keyGenerator: () => 'x' });
// @ts-expect-error A context has no such field.
rateLimit({ policy, key: (c) => c.nothing });
// @ts-expect-error A refusal is answered by a response.
rateLimit({ policy, handler: () => 'slow down' });
