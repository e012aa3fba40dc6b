/**
 * SIGHUP means "read your configuration again", and ends a process that does not listen for it. So a command listens before it does
 * anything else, and answers one that came too early as soon as it can.
 */
export interface Hangups {
  /** What to do from now on; at once where one has come meanwhile. */
  answerWith(answer: () => void): void;
}

export function listenForHangups(): Hangups {
  let isWaiting = false;
  let current = (): void => {
    isWaiting = true;
  };
  process.on('SIGHUP', () => current());
  return {
    answerWith(answer) {
      current = answer;
      if (isWaiting) answer();
      isWaiting = false;
    },
  };
}
