export { type ApplySlot, applyAcrossSlots } from '../stores/across-slots.ts';
export { requestText, settledForMs } from '../stores/answer-once.ts';
export { slotOf } from '../stores/slot.ts';
export { type ClusterStore, type ClusterStoreStats, clusterStore } from './cluster-store.ts';
export type { ClusterStoreOptions, TlsOptions } from './options.ts';
export {
  type Arguments,
  applyCommandName,
  argumentsOfChecks,
  argumentsPerCheck,
  checksOfArguments,
  type DecisionWriter,
  decisionsOfReply,
  firstKeyAt,
  mostChecks,
  policyOfText,
  requestIdOf,
  type SentCheck,
  writeDecisions,
} from './wire.ts';
