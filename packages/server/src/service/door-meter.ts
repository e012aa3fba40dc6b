/** What a door counts. Plain numbers: each thread has its own, and they are added up when somebody asks. */
export interface DoorMeter {
  connections: number;
  /** Connections refused because there were too many. */
  refusedConnections: number;
  /** Requests, commands or calls that were answered, errors included. */
  requests: number;
  /** Those that could not be understood. */
  malformed: number;
  /** Those without a valid token. */
  unauthorized: number;
  /** Connections ended because nothing happened, or a request did not become whole in time. */
  timedOut: number;
}

export function doorMeter(): DoorMeter {
  return { connections: 0, refusedConnections: 0, requests: 0, malformed: 0, unauthorized: 0, timedOut: 0 };
}
