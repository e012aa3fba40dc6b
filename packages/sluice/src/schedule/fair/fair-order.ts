/**
 * Tasks by tenants: who has had least goes next (`virtual-time.ts`), and each tenant's own tasks are first come, first served. A tenant
 * without tasks is asleep. One that nobody added comes with its first task, at nice 0, and leaves with its last.
 *
 * Where there are too many, the tenant that has most of them for its weight gives up its newest: whoever floods the queue pushes out
 * itself.
 */

import { IndexedHeap, type InHeap } from '../../balance/indexed-heap.ts';
import { type InLine, Line } from '../../protect/line.ts';
import type { Order, Waiting } from '../order.ts';
import type { Tenant, VirtualTime } from './virtual-time.ts';
import { niceZeroWeight } from './weight.ts';

/** Where a tenant stands among those who have most tasks for their weight. */
interface Load extends InHeap {
  readonly tenant: Tenant;
}

export class FairOrder implements Order {
  private readonly time: VirtualTime;
  private readonly most = new IndexedHeap<Load>((a, b) => loadOf(a.tenant) > loadOf(b.tenant));
  /** Only where the last is ever asked for. */
  private readonly loads: Map<Tenant, Load> | undefined;

  constructor(time: VirtualTime, isLastAskedFor: boolean) {
    this.time = time;
    this.loads = isLastAskedFor ? new Map() : undefined;
  }

  add(waiting: Waiting, nowMs: number): void {
    this.time.passTo(nowMs);
    const tenant = this.time.find(waiting.tenant) ?? this.time.add(waiting.tenant, niceZeroWeight, true);
    tenant.line ??= new Line();
    waiting.place = tenant.line.add(waiting);
    if (tenant.isIdle) this.time.setIdle(tenant, false);
    this.weigh(tenant);
  }

  remove(waiting: Waiting): void {
    const tenant = this.time.known(waiting.tenant);
    tenant.line?.remove(waiting.place as InLine<Waiting>);
    this.weigh(tenant);
    this.rest(tenant);
  }

  readyAtMs(nowMs: number): number {
    return this.firstWithTask(nowMs) ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  take(nowMs: number): Waiting | undefined {
    const tenant = this.firstWithTask(nowMs);
    const first = tenant?.line?.first;
    if (!tenant || !first) return undefined;
    tenant.line?.remove(first);
    this.time.begin(tenant, nowMs);
    this.weigh(tenant);
    this.rest(tenant);
    return first.value;
  }

  ended(waiting: Waiting, elapsedMs: number, nowMs: number): void {
    const tenant = this.time.known(waiting.tenant);
    this.time.end(tenant, elapsedMs, nowMs);
    this.rest(tenant);
  }

  last(newcomer: Waiting): Waiting {
    const own = this.time.find(newcomer.tenant);
    const most = this.most.first?.tenant;
    // Among equals the newcomer's own: it must not push out another's.
    const tenant = own && most && loadOf(own) >= loadOf(most) ? own : most;
    return tenant?.line?.last?.value ?? newcomer;
  }

  /** After its weight or the number of its tasks has changed. */
  weigh(tenant: Tenant): void {
    if (!this.loads) return;
    const load = this.loads.get(tenant);
    const hasTasks = (tenant.line?.length ?? 0) > 0;
    if (load && hasTasks) this.most.moved(load);
    else if (load) {
      this.most.remove(load);
      this.loads.delete(tenant);
    } else if (hasTasks) {
      const own = { heapIndex: -1, tenant };
      this.loads.set(tenant, own);
      this.most.push(own);
    }
  }

  private firstWithTask(nowMs: number): Tenant | undefined {
    for (let first = this.time.first(nowMs); first; first = this.time.first(nowMs)) {
      if (first.line && first.line.length > 0) return first;
      // Added by the caller, and has nothing to do yet: it sleeps until it has.
      this.time.setIdle(first, true);
    }
    return undefined;
  }

  /** Whoever has no task left sleeps, and goes once its last has ended. */
  private rest(tenant: Tenant): void {
    if ((tenant.line?.length ?? 0) > 0) return;
    this.time.setIdle(tenant, true);
    if (!tenant.isKept && tenant.running === 0) this.time.remove(tenant);
  }
}

function loadOf({ line, weight }: Tenant): number {
  return (line?.length ?? 0) / weight;
}
