/** Whoever waits for a turn, by group, so that something can be done to all of a group at once. */
import type { Call } from '../calls.ts';

export interface Waiting {
  readonly id: string;
  readonly group: number;
  readonly abort: AbortController;
  priority: number;
}

export class WaitingTasks {
  private readonly groups: readonly string[];
  private readonly byGroup: readonly Set<Waiting>[];
  private count = 0;

  constructor(groups: readonly string[]) {
    this.groups = groups;
    this.byGroup = groups.map(() => new Set());
  }

  add({ group, source }: Call): Waiting {
    this.count += 1;
    const task = { id: `task-${this.count}`, group, abort: new AbortController(), priority: source.priority };
    this.byGroup[group]?.add(task);
    return task;
  }

  delete(task: Waiting): void {
    this.byGroup[task.group]?.delete(task);
  }

  /** In the order in which they came. */
  of(group: string): readonly Waiting[] {
    return [...(this.byGroup[this.groups.indexOf(group)] ?? [])];
  }
}
