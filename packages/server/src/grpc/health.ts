/**
 * `grpc.health.v1`: whether callers should come here. `Check` answers once; `Watch` answers now, and again when it changes.
 *
 * The service has no event for "ready", so it is asked now and then while somebody watches; a drain is told at once.
 */
import type { DoorSettings } from '../service/door.ts';
import type { Answer, Service } from '../service/service.ts';
import type { Call } from './call.ts';
import { type ServingStatus, servingStatuses, writeHealthCheckResponse } from './health-codec.ts';
import { GrpcError, statusCodes } from './status.ts';

export const rateLimitServiceName = 'envoy.service.ratelimit.v3.RateLimitService';

/** The empty name is the server as a whole. */
const knownServices: readonly string[] = ['', rateLimitServiceName];

interface Watcher {
  readonly call: Call;
  readonly isKnown: boolean;
  sent: ServingStatus | undefined;
}

export class Health {
  readonly #service: Service;
  readonly #settings: DoorSettings;
  readonly #watchEveryMs: number;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #isDraining = false;

  constructor(service: Service, settings: DoorSettings, watchEveryMs: number) {
    this.#service = service;
    this.#settings = settings;
    this.#watchEveryMs = watchEveryMs;
  }

  check(name: string): Answer<ServingStatus> {
    if (!knownServices.includes(name)) {
      throw new GrpcError(statusCodes.notFound, `there is no service ${JSON.stringify(name)}`);
    }
    return this.#status();
  }

  /**
   * A service that is not known may become so, and its watcher stays, says the protocol. As many may watch as may connect; beyond that each connection has one
   * watch, so that nobody takes all of them.
   */
  watch(name: string, call: Call): void {
    if (this.#isDraining) throw ending();
    const { connection } = call;
    const { connections } = this.#settings.limits;
    if (this.#watchers.size >= connections && connection.watches > 0) {
      throw new GrpcError(statusCodes.resourceExhausted, `at most ${connections} may watch at once`);
    }
    connection.watches++;
    const watcher: Watcher = { call, isKnown: knownServices.includes(name), sent: undefined };
    this.#watchers.add(watcher);
    call.onClose(() => {
      connection.watches--;
      this.#remove(watcher);
    });
    this.#timer ??= setInterval(() => void this.#ask(), this.#watchEveryMs);
    void this.#ask();
  }

  /** Tells every watcher, and ends its call: a watch would keep its connection open for good. */
  drain(): void {
    this.#isDraining = true;
    for (const watcher of this.#watchers) {
      tell(watcher, servingStatuses.notServing);
      watcher.call.fail(ending());
    }
  }

  async #status(): Promise<ServingStatus> {
    if (this.#isDraining) return servingStatuses.notServing;
    try {
      const { isReady } = await this.#service.readiness();
      return isReady && !this.#isDraining ? servingStatuses.serving : servingStatuses.notServing;
    } catch (error) {
      this.#settings.log.warn({ err: error }, 'readiness could not be asked for; health says NOT_SERVING');
      return servingStatuses.notServing;
    }
  }

  /** At most one question at a time; a watcher that comes meanwhile shares its answer. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const status = await this.#status();
    this.#isAsking = false;
    for (const watcher of this.#watchers) tell(watcher, status);
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function tell(watcher: Watcher, status: ServingStatus): void {
  const news = watcher.isKnown ? status : servingStatuses.serviceUnknown;
  if (watcher.sent === news) return;
  // A client too slow to be told now is told with the next question.
  if (watcher.call.send(news, writeHealthCheckResponse)) watcher.sent = news;
}

const ending = () => new GrpcError(statusCodes.unavailable, 'the service is ending');
