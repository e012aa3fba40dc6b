/** What the tests of this folder share. */
import type { NodeLog } from '../environment.ts';

export const silent: NodeLog = { debug() {}, info() {}, warn() {}, error() {} };
