/** A thread of its own for the log: reading gigabytes must not keep the page from answering. */
import { LogDesk } from './log-desk.ts';
import type { Question, Report } from './messages.ts';

const say = (report: Report) => postMessage(report);
const desk = new LogDesk(say);

addEventListener('message', ({ data }: MessageEvent<Question>) => {
  const kind = data.kind === 'read' ? 'failed' : 'unanswered';
  void answer(data).then(say, (error: Error) => say({ kind, message: error.message }));
});

async function answer(question: Question): Promise<Report> {
  switch (question.kind) {
    case 'read':
      return { kind: 'summary', summary: await desk.read(question.files, question.options) };
    case 'what-if':
      return { ...question, result: desk.whatIf(question.policy) };
    case 'limits':
      return { ...question, limits: desk.limits(question.windowMs, question.share) };
  }
}
