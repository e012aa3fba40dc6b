/** Who was let through by the first variant, so that the others can be held against it, call by call. */
export class AnswerBook {
  private answers = new Uint8Array(1024);
  private at = 0;
  private length = 0;
  private isFirst = true;
  /** Calls that this variant let through and the first did not, and the other way round. */
  extraAllowed = 0;
  extraRefused = 0;

  /** The next variant begins. */
  turnOver(): void {
    this.isFirst = false;
    this.at = 0;
    this.extraAllowed = 0;
    this.extraRefused = 0;
  }

  get isCompared(): boolean {
    return !this.isFirst && this.length > 0;
  }

  say(isAllowed: boolean): void {
    if (this.isFirst) this.write(isAllowed);
    else if (this.at < this.length) {
      const before = this.answers[this.at] === 1;
      if (isAllowed && !before) this.extraAllowed += 1;
      if (!isAllowed && before) this.extraRefused += 1;
      this.at += 1;
    }
  }

  private write(isAllowed: boolean): void {
    if (this.length === this.answers.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.answers);
      this.answers = larger;
    }
    this.answers[this.length] = isAllowed ? 1 : 0;
    this.length += 1;
  }
}
