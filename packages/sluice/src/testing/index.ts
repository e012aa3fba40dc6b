export { type ConformanceTest, conformance, type MakeStore } from '../stores/conformance/conformance.ts';
export { seededRandom } from '../vocabulary/random.ts';
export { TestClock } from './test-clock.ts';
