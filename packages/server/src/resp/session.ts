/** What is known of one client: where it is, what it called itself, and what it may do. */
export class Session {
  /** The protocol it speaks; HELLO 3 changes it. */
  isResp3 = false;
  isAuthenticated: boolean;
  /** Whatever comes now is not answered, and the connection ends when its replies are out. */
  isEnding = false;
  name = '';
  libraryName = '';
  libraryVersion = '';
  lastCommand = '';
  readonly id: number;
  readonly connectedMs: number;
  readonly remote: Endpoint;
  /** Our side, as the client sees it: what CLUSTER SLOTS tells. */
  readonly local: Endpoint;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.connectedMs = options.connectedMs;
    this.remote = options.remote;
    this.local = options.local;
    this.isAuthenticated = options.isAuthenticated;
  }
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

export interface SessionOptions {
  readonly id: number;
  readonly connectedMs: number;
  readonly remote: Endpoint;
  readonly local: Endpoint;
  readonly isAuthenticated: boolean;
}

/** An IPv4 address stays one, also on a socket that hears both families. */
export function endpointOf(address: string | undefined, port: number | undefined): Endpoint {
  return { address: (address ?? '').replace(/^::ffff:(?=\d+\.)/, ''), port: port ?? 0 };
}
