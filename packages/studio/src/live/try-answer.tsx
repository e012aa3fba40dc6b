/** What the service answered to a check: the verdict, each decision, the headers, and all of the body. */
import { Decisions } from './decisions.tsx';
import { type DecisionData, problemText, type ServiceReply } from './service-api.ts';

interface RulesResultData {
  readonly allowed: boolean;
  readonly tightest: DecisionData | null;
  readonly decisions: readonly DecisionData[];
  readonly list?: 'allow' | 'deny';
}

const shownHeaders = /^(ratelimit|ratelimit-policy|x-ratelimit-.*|retry-after)$/i;

export function TryAnswer({ reply }: { readonly reply: ServiceReply }) {
  const decisions = decisionsOf(reply.body);
  const headers = reply.headers.filter(([name]) => shownHeaders.test(name));
  return (
    <div class="answer">
      <p role="status" class="answer-verdict">
        <span class={reply.status === 200 ? 'good' : 'bad'}>
          {reply.status === 0
            ? '✕ no answer'
            : `${reply.status === 200 ? '✓' : '✕'} ${reply.status} ${reply.statusText}`}
        </span>{' '}
        {verdictText(reply, decisions)}
      </p>
      {decisions !== undefined && <Decisions decisions={decisions} />}
      {headers.length > 0 && (
        <dl class="headers" aria-label="Headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{headerName(name)}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <details>
        <summary>The whole body</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre class="body" tabIndex={0}>
          {typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body, null, 2)}
        </pre>
      </details>
    </div>
  );
}

function verdictText(reply: ServiceReply, decisions: readonly DecisionData[] | undefined): string {
  if (reply.status !== 200 || decisions === undefined) return listText(reply.body) ?? problemText(reply);
  const { rule, remaining } = (reply.body as Partial<RulesResultData>).tightest ?? decisions[0] ?? {};
  if (rule === undefined) return listText(reply.body) ?? 'Allowed: no rule applied.';
  return `Allowed. Tightest is ${rule}, with ${remaining} remaining.`;
}

function listText(body: unknown): string | undefined {
  const { list } = (typeof body === 'object' && body !== null ? body : {}) as Partial<RulesResultData>;
  if (list === undefined) return undefined;
  return list === 'allow' ? 'Allowed by the allow-list.' : 'Refused by the deny-list.';
}

/** Undefined: the body is a problem and no decision. */
function decisionsOf(body: unknown): readonly DecisionData[] | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('decisions' in body) return (body as RulesResultData).decisions;
  return 'remaining' in body ? [body as DecisionData] : undefined;
}

/** Browsers write headers small; people know them otherwise. */
function headerName(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()).replace('Ratelimit', 'RateLimit');
}
