/** The `date` of answers: made once a second. */
let second = -1;
let text = '';

export function dateText(): string {
  const nowMs = Date.now();
  const now = Math.floor(nowMs / 1000);
  if (now !== second) {
    second = now;
    text = new Date(nowMs).toUTCString();
  }
  return text;
}
