/** Which route does it take, and who asks? Everything after this goes by what is found here. */
import { answerProblem, Problem } from '../answer-problem.ts';
import type { Passage, Step } from '../passage.ts';
import { routeHost, routePath, withoutPrefix } from '../routes/route-path.ts';

export function identify(passage: Passage): Step {
  const { plan, exchange } = passage;
  const { request } = exchange;
  const { method, target } = request;
  const host = routeHost(request.authority);
  const path = routePath(target);
  const route = plan.routeOf({ host, path, method, headers: request.headers });
  passage.route = route;
  (route?.meter ?? plan.strangers).inFlight += 1;
  passage.address = plan.identity.addressOf(exchange);
  if (route === undefined) {
    passage.refusal = 'no-route';
    answerProblem(exchange, new Problem(404, 'No route leads there.'));
    return 'report';
  }
  const { name, stripPrefix } = route.config;
  passage.target = stripPrefix === undefined ? target : withoutPrefix(target, stripPrefix);
  passage.subject = plan.identity.describe(exchange, { ip: passage.address, method, path, host, route: name });
  return 'next';
}
