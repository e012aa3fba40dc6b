/** What somebody wrote into the form, as the body of `POST /v1/check`; the service judges all but whether it is JSON. */
export interface CheckForm {
  readonly asks: 'rules' | 'policy';
  readonly subject: string;
  readonly policy: string;
  readonly key: string;
  readonly cost: string;
}

export type ReadForm =
  | { readonly body: Readonly<Record<string, unknown>> }
  | { readonly field: keyof CheckForm; readonly problem: string };

export function checkBody({ asks, subject, policy, key, cost }: CheckForm): ReadForm {
  const field = asks === 'rules' ? 'subject' : 'policy';
  const read = readJson(field, asks === 'rules' ? subject : policy);
  if ('problem' in read) return { field, problem: read.problem };
  // An empty cost is the service's own: 1.
  if (cost.trim() !== '' && !Number.isFinite(Number(cost)))
    return { field: 'cost', problem: `Cost must be a number such as 1 or 0.5, got "${cost}".` };
  const costs = cost.trim() === '' || Number(cost) === 1 ? {} : { cost: Number(cost) };
  return { body: { [field]: read.data, ...(asks === 'policy' && { key }), ...costs } };
}

function readJson(field: string, text: string): { readonly data: unknown } | { readonly problem: string } {
  try {
    return { data: JSON.parse(text) };
  } catch (error) {
    const name = field === 'subject' ? 'Subject' : 'Policy';
    return { problem: `${name} must be JSON: ${(error as Error).message}.` };
  }
}
