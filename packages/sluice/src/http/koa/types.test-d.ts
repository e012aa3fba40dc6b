/** Types flow from Koa: this file only has to compile. */
import Koa, { type Context, type Middleware } from 'koa';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { type Refused, rateLimit } from './index.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;

const policy = gcra({ limit: 100, window: '1m' });

export const limit = rateLimit({
  policy,
  key: (context) => {
    same<typeof context, Context>(true);
    return context.get('x-api-key');
  },
  costAfter(context, { status, response }) {
    same<typeof context, Context>(true);
    same<typeof response, Context>(true);
    return status < 400 ? 0 : 1;
  },
  handler(context, refused) {
    same<typeof context, Context>(true);
    same<typeof refused, Refused>(true);
    context.status = refused.status;
  },
});

// It is a middleware like any other, also of an application that has types of its own.
export const middleware: Middleware = limit;
new Koa().use(limit).use((context) => {
  same<typeof context.state.rateLimit, RulesResult | undefined>(true);
});
interface State {
  user: string;
}
interface Extra {
  database: { find(id: string): string };
}
new Koa<State, Extra>().use(limit).use((context) => {
  same<typeof context.state.user, string>(true);
  context.body = context.database.find(context.state.user);
});

// @ts-expect-error Nothing says what is limited.
rateLimit({});
// @ts-expect-error One policy, or rules.
rateLimit({ policy, rules: [] });
// @ts-expect-error A context is no request of Express.
rateLimit({ policy, key: (context) => context.originalUrl.nothing });
