import { expectSeedsToHold } from './seeds.test-support.ts';

expectSeedsToHold('cuts');
