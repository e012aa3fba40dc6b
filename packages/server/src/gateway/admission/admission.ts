/**
 * So many requests under way at once, and a bounded room for those who wait.
 *
 *      request ──► a place is free? ──► has it, until it says how it ended ──────────┐
 *                       │ no                  ▲                                      │ a place is free again
 *                       ▼                     │ by priority, by tenant, by arrival ◄─┘
 *                  the waiting room ──────────┘
 *                       └──► full, shed, waited too long, gone, closed
 *
 * Nobody waits while a place is free: so whoever finds one overtakes nobody, and needs to know nothing about tenants and priorities.
 *
 * A change of the configuration drops nobody. Where the room becomes smaller than what is in it, newcomers find it full (or push out
 * whoever must go before them, one for one) until enough have left.
 */
import type { Clock } from 'sluice';
import type { Pass } from 'sluice/protect';
import type { AdmissionConfig } from '../../config/gateway-config.ts';
import type { Answer } from '../../service/service.ts';
import type {
  Admission,
  AdmissionRequest,
  AdmissionStats,
  Admitted,
  RefusalReason,
  Refused,
} from './admission-types.ts';
import { Alarm } from './alarm.ts';
import { Pace } from './pace.ts';
import { Place, type WhenEnded } from './place.ts';
import { isSameConcurrency, type Places, placesOf } from './places.ts';
import type { Waiter } from './waiter.ts';
import { WaitingRoom } from './waiting-room.ts';

export function openAdmission(config: AdmissionConfig, clock: Clock): Admission {
  return new OwnAdmission(config, clock);
}

const atOnce = { waitedMs: 0, account: undefined };

class OwnAdmission implements Admission, WhenEnded {
  private readonly clock: Clock;
  private readonly room: WaitingRoom;
  private readonly alarm: Alarm;
  private readonly pace = new Pace();
  private readonly refused: Record<RefusalReason, number> = {
    full: 0,
    'waited-too-long': 0,
    shed: 0,
    closed: 0,
    gone: 0,
  };
  private config: AdmissionConfig;
  private places: Places;
  /** That of the places, as last seen; 0 when it is closed. */
  private limit: number;
  private inFlight = 0;
  private admitted = 0;
  private isClosed = false;
  private latestMs = Number.NEGATIVE_INFINITY;

  constructor(config: AdmissionConfig, clock: Clock) {
    this.clock = clock;
    this.config = config;
    this.places = placesOf(config, clock);
    this.limit = this.places.limit;
    this.room = new WaitingRoom(config, clock);
    this.alarm = new Alarm(clock);
  }

  enter(request: AdmissionRequest): Answer<Admitted | Refused> {
    const nowMs = this.now();
    return this.inFlight < this.limit ? this.begin(request, atOnce, nowMs) : this.wait(request, nowMs);
  }

  reconfigure(config: AdmissionConfig): void {
    if (this.isClosed) return;
    const nowMs = this.now();
    if (!isSameConcurrency(this.config.concurrency, config.concurrency)) {
      this.places = placesOf(config, this.clock, this.limit);
      this.limit = this.places.limit;
    }
    this.config = config;
    this.room.reconfigure(config);
    this.alarm.stop();
    this.letIn(nowMs);
    this.watch(nowMs);
  }

  close(): void {
    const nowMs = this.now();
    this.isClosed = true;
    this.limit = 0;
    this.alarm.stop();
    for (let oldest = this.room.oldest; oldest; oldest = this.room.oldest) this.turnAway(oldest, 'closed', nowMs);
  }

  stats(): AdmissionStats {
    this.expire(this.now());
    const { limit, inFlight, admitted } = this;
    return { limit, inFlight, waiting: this.room.size, admitted, refused: { ...this.refused } };
  }

  take(): Pass | undefined {
    return this.places.take();
  }

  learnt(): void {
    if (this.isClosed || this.limit === this.places.limit) return;
    this.limit = this.places.limit;
    if (this.room.size > 0) this.letIn(this.now());
  }

  ended(place: Place): void {
    const nowMs = this.now();
    if (this.inFlight >= this.limit) this.pace.oneFreed(nowMs);
    this.inFlight -= 1;
    this.room.ended(place, place.account, place.beganMs, nowMs);
    if (this.isClosed) return;
    this.limit = this.places.limit;
    if (this.room.size > 0) this.letIn(nowMs);
  }

  /** A clock that steps back stands still: then nobody is charged, and nobody's time is up. */
  private now(): number {
    const nowMs = this.clock.now();
    if (nowMs > this.latestMs) this.latestMs = nowMs;
    return this.latestMs;
  }

  private begin(request: AdmissionRequest, waited: ConstructorParameters<typeof Place>[1], nowMs: number): Place {
    this.inFlight += 1;
    this.admitted += 1;
    if (this.inFlight >= this.limit) this.pace.filled(nowMs);
    return new Place(request, waited, nowMs, this.places.take(), this);
  }

  private letIn(nowMs: number): void {
    // First, so that whose time is up is refused, whether or not the alarm has gone off yet.
    this.expire(nowMs);
    while (this.inFlight < this.limit) {
      const next = this.room.take(nowMs);
      if (next === undefined) return;
      const { waiter, account } = next;
      waiter.forgetSignal();
      waiter.answer(this.begin(waiter, { waitedMs: nowMs - waiter.sinceMs, account }, nowMs));
    }
  }

  private wait(request: AdmissionRequest, nowMs: number): Answer<Admitted | Refused> {
    if (this.isClosed) return this.refusal('closed', nowMs);
    this.expire(nowMs);
    const { queue } = this.config;
    const isFull = this.room.size >= queue;
    const worst = isFull && queue > 0 ? this.room.worst(request, nowMs) : undefined;
    if (isFull && worst === undefined) return this.refusal('full', nowMs);
    // Asked for only now: one is made when it is, and a flood is refused without.
    const { signal } = request;
    if (signal?.aborted) return this.refusal('gone', nowMs);
    if (worst) this.turnAway(worst, 'shed', nowMs);
    return new Promise((answer) => this.enterRoom(request, signal, answer, nowMs));
  }

  private enterRoom(
    { tenant, priority }: AdmissionRequest,
    signal: AbortSignal | undefined,
    answer: Waiter['answer'],
    nowMs: number,
  ): void {
    const waiter: Waiter = {
      tenant,
      priority,
      sinceMs: nowMs,
      answer,
      forgetSignal: () => undefined,
      account: undefined,
      inAccount: undefined,
      inArrivals: undefined,
    };
    if (signal) {
      const leave = () => this.turnAway(waiter, 'gone', this.now());
      signal.addEventListener('abort', leave, { once: true });
      waiter.forgetSignal = () => signal.removeEventListener('abort', leave);
    }
    this.room.add(waiter, nowMs);
    this.watch(nowMs);
  }

  private expire(nowMs: number): void {
    const { queueTimeoutMs } = this.config;
    for (let oldest = this.room.oldest; oldest && oldest.sinceMs + queueTimeoutMs <= nowMs; oldest = this.room.oldest)
      this.turnAway(oldest, 'waited-too-long', nowMs);
  }

  /** Sleeps until the time of the first is up. It sleeps on where that one has left: the next one's time is up later. */
  private watch(nowMs: number): void {
    const { oldest } = this.room;
    if (oldest === undefined || this.alarm.isSet) return;
    const untilMs = oldest.sinceMs + this.config.queueTimeoutMs;
    this.alarm.set(untilMs - nowMs, () => {
      // Whoever has slept for so long knows that the time has passed, also where the clock was set back meanwhile.
      this.latestMs = Math.max(this.latestMs, untilMs);
      const wokenMs = this.now();
      this.expire(wokenMs);
      this.watch(wokenMs);
    });
  }

  private turnAway(waiter: Waiter, reason: RefusalReason, nowMs: number): void {
    if (!this.room.remove(waiter)) return;
    waiter.forgetSignal();
    waiter.answer(this.refusal(reason, nowMs));
  }

  private refusal(reason: RefusalReason, nowMs: number): Refused {
    this.refused[reason] += 1;
    return { isAdmitted: false, reason, retryAfterMs: this.pace.retryAfterMs(this.room.size, nowMs) };
  }
}
