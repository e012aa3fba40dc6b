/** What a layer has to know of the operations of a store. */
import type { Operation } from '../stores/store.ts';

/** Whether an operation can be refused: it asks whether something may be taken. All others are done as told. */
export function isQuestion(operation: Operation | undefined): boolean {
  return operation === 'peek' || takes(operation);
}

/** Whether an operation takes something if it may. */
export function takes(operation: Operation | undefined): boolean {
  switch (operation) {
    case undefined:
    case 'check':
    case 'reserve':
    case 'acquire':
    case 'take':
      return true;
    default:
      return false;
  }
}
