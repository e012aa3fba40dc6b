/** What `Connection` says: `close`, `keep-alive`, `upgrade`, and names of headers that are for this hop alone. */
import { isToken, withoutBlanks } from './characters.ts';
import { BadMessage } from './message.ts';

export interface ConnectionOptions {
  readonly isClose: boolean;
  readonly isKeepAlive: boolean;
  readonly isUpgrade: boolean;
}

const nothing: ConnectionOptions = { isClose: false, isKeepAlive: false, isUpgrade: false };
const keepAlive: ConnectionOptions = { ...nothing, isKeepAlive: true };
const close: ConnectionOptions = { ...nothing, isClose: true };
const upgrade: ConnectionOptions = { ...nothing, isUpgrade: true };

/** `value`: of all lines, joined by commas. */
export function connectionOptions(value: string | undefined): ConnectionOptions {
  switch (value) {
    case undefined:
      return nothing;
    case 'keep-alive':
    case 'Keep-Alive':
      return keepAlive;
    case 'close':
      return close;
    case 'Upgrade':
    case 'upgrade':
      return upgrade;
  }
  const options = namedOptions(value);
  for (const option of options) {
    if (!isToken(option)) throw new BadMessage(400, 'Connection must be a list of names');
  }
  return {
    isClose: options.includes('close'),
    isKeepAlive: options.includes('keep-alive'),
    isUpgrade: options.includes('upgrade'),
  };
}

/** Its options in lower case, those that are empty left out. */
export function namedOptions(value: string): string[] {
  const options: string[] = [];
  for (const part of value.split(',')) {
    const option = withoutBlanks(part);
    if (option !== '') options.push(option.toLowerCase());
  }
  return options;
}
