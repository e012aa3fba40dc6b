import { HttpException } from '@nestjs/common';
import type { Refused } from '../middleware/options.ts';

/** What a refused request is answered by, unless a filter of yours catches it: its body is the problem, its status 429 or 503. */
export class RateLimitException extends HttpException {
  readonly refused: Refused;

  constructor(refused: Refused) {
    const { problem } = refused;
    super(problem, refused.status);
    this.refused = refused;
    this.message = problem.detail;
  }
}
