// What our service answers to a check over HTTP, so that others can answer with as much.

/** @param {number} port */
export async function answerOfCheck(port) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ subject: { user: '000000000000' } }),
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`our service answered ${response.status}: ${body}`);
  // Those that node:http writes by itself are not written twice.
  const own = ['date', 'connection', 'keep-alive', 'transfer-encoding'];
  return { headers: Object.fromEntries([...response.headers].filter(([name]) => !own.includes(name))), body };
}
