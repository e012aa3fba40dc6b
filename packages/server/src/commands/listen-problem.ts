/** Why a door cannot be opened, said to a person: which setting it is of, and the way out. */
import type { Address } from '../config/config.ts';

export interface AskedDoor {
  /** As the configuration has it, such as `listen.http`. */
  readonly setting: string;
  /** As the command line has it, such as `--http`. */
  readonly flag: string;
  readonly address: Address | undefined;
}

/** Of an error that is none of listening, its message. */
export function listenProblem(error: unknown, doors: readonly AskedDoor[]): string {
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  const isPort = ({ address }: AskedDoor) => port !== undefined && port !== 0 && address?.port === port;
  const isHost = ({ address }: AskedDoor) => address !== undefined && message.includes(address.host);
  // Not every error knows its port, and where any free one was asked for it says nothing; but the host is in its words.
  const door = doors.find((one) => isPort(one) && isHost(one)) ?? doors.find(isPort) ?? doors.find(isHost);
  const setting = door === undefined ? '' : ` (${door.setting})`;
  const flag = door?.flag ?? doors[0]?.flag;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port}${setting} is in use. Choose another, such as ${flag} 0 for any free one, or end what listens there.`;
    case 'EACCES':
      return port === undefined
        ? message
        : `Port ${port}${setting} may not be opened by this user. Choose one from 1024.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return door === undefined
        ? message
        : `${door.address?.host}${setting} is no address of this machine. Choose one that is, such as ${flag} 0.0.0.0:${door.address?.port} for all of them.`;
    default:
      return message;
  }
}
