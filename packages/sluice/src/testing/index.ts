export { type ConformanceTest, conformance, type MakeStore } from '../stores/conformance/conformance.ts';
export { seededRandom } from '../vocabulary/random.ts';
export {
  type AuditOptions,
  type Auditor,
  type AuditorOptions,
  type AuditReport,
  audit,
  auditor,
  type Verdict,
  type Violation,
} from './auditor/auditor.ts';
export type { Grant, GrantAt, GrantBetween } from './auditor/grant.ts';
export { TestClock } from './test-clock.ts';
