export { byClient, type ClientHistory, type ClientIndex } from './by-client.ts';
export type { ClientList, Trace } from './trace.ts';
export { type TraceRecorder, type TraceRecorderOptions, traceRecorder } from './trace-recorder.ts';
export type { TraceReport } from './trace-report.ts';
