/** What came of the operations, in words and in the order in which it was known. */
import { type Findings, mostInWords } from '../vocabulary.ts';

export class OperationLog {
  private readonly words: string[] = [];

  /** `peek yes 7` */
  say(...words: readonly (string | number | boolean)[]): void {
    if (this.words.length === mostInWords) return;
    this.words.push(words.map((word) => (typeof word === 'boolean' ? (word ? 'yes' : 'no') : word)).join(' '));
  }

  report({ texts, notes }: Findings): void {
    const text = this.words.join(', ');
    texts.set('operations', text);
    if (text !== '') notes.push(`operations: ${text}`);
  }
}
