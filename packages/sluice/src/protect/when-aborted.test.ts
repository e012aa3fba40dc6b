import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { whenAborted } from './when-aborted.ts';

function begin() {
  const controller = new AbortController();
  const { signal } = controller;
  const acted: string[] = [];
  return {
    controller,
    signal,
    acted,
    wait: (name: string) => whenAborted(signal, () => acted.push(name)),
    listeners: () => getEventListeners(signal, 'abort').length,
  };
}

describe('whenAborted', () => {
  it('tells all that wait, in their order, once, by one listener', () => {
    const { controller, acted, wait, listeners } = begin();
    for (const name of ['a', 'b', 'c']) wait(name);
    expect(listeners()).toBe(1);
    expect(acted).toEqual([]);
    controller.abort();
    expect(acted).toEqual(['a', 'b', 'c']);
    expect(listeners()).toBe(0);
  });

  it('acts at once when the signal is aborted already', () => {
    const { controller, acted, wait, listeners } = begin();
    controller.abort();
    wait('late')();
    expect(acted).toEqual(['late']);
    expect(listeners()).toBe(0);
  });

  it('does not tell who has left, and leaves the signal with the last of them', () => {
    const { controller, acted, wait, listeners } = begin();
    const [leaveA, leaveB] = [wait('a'), wait('b')];
    leaveA();
    leaveA();
    expect(listeners()).toBe(1);
    leaveB();
    expect(listeners()).toBe(0);
    const leaveC = wait('c');
    // Those who left before have no say any more.
    leaveB();
    expect(listeners()).toBe(1);
    controller.abort();
    leaveC();
    expect(acted).toEqual(['c']);
  });

  it('the same function may wait twice and leave once', () => {
    const { controller, signal } = begin();
    let acted = 0;
    const act = () => {
      acted += 1;
    };
    whenAborted(signal, act)();
    whenAborted(signal, act);
    whenAborted(signal, act);
    controller.abort();
    expect(acted).toBe(2);
  });

  it('one that is told may make another leave, which is then not told', () => {
    const { controller, signal, acted, wait } = begin();
    let leave = () => {};
    whenAborted(signal, () => leave());
    leave = wait('other');
    controller.abort();
    expect(acted).toEqual([]);
  });
});
