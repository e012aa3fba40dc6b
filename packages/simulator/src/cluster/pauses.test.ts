import { expectSeedsToHold } from './seeds.test-support.ts';

expectSeedsToHold('pauses');
