export {
  type FileReport,
  type FilesReader,
  type FilesReport,
  filesReader,
  type MalformedInFile,
} from './files-reader.ts';
export type { ByteRange, LogLine, TakeLine } from './log-line.ts';
export { type LogReader, logReader, type MalformedLine, type ReadFields, type ReadReport } from './log-reader.ts';
export type { LogFormat, LogReaderOptions } from './options.ts';
export { visibleText } from './visible.ts';
