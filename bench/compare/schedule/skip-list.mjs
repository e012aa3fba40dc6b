// A plain skip list (Pugh 1990): levels by a coin, here with a chance of 1 in 4.
const mostLevels = 16;

/**
 * @template T
 * @typedef {{ value: T | undefined, next: (Node<T> | undefined)[] }} Node
 */

/** @template T */
export class SkipList {
  #compare;
  /** @type {Node<T>} */
  #head = { value: undefined, next: new Array(mostLevels).fill(undefined) };
  #levels = 1;
  #seed = 1;

  /** @param {(a: T, b: T) => number} compare */
  constructor(compare) {
    this.#compare = compare;
  }

  get first() {
    return /** @type {T} */ (this.#head.next[0]?.value);
  }

  /** @param {T} value */
  add(value) {
    const before = this.#before(value);
    let levels = 1;
    while (levels < mostLevels && this.#isLucky()) levels += 1;
    for (let level = this.#levels; level < levels; level += 1) before[level] = this.#head;
    this.#levels = Math.max(this.#levels, levels);
    /** @type {Node<T>} */
    const node = { value, next: new Array(levels) };
    for (let level = 0; level < levels; level += 1) {
      const previous = /** @type {Node<T>} */ (before[level]);
      node.next[level] = previous.next[level];
      previous.next[level] = node;
    }
  }

  /** @param {T} value */
  remove(value) {
    const before = this.#before(value);
    const node = before[0]?.next[0];
    if (node?.value !== value) return;
    for (let level = 0; level < node.next.length; level += 1) {
      const previous = /** @type {Node<T>} */ (before[level]);
      previous.next[level] = node.next[level];
    }
  }

  /** The last node before the value, on each level. @param {T} value */
  #before(value) {
    /** @type {Node<T>[]} */
    const before = [];
    let node = this.#head;
    for (let level = this.#levels - 1; level >= 0; level -= 1) {
      for (let next = node.next[level]; next !== undefined; next = node.next[level]) {
        if (this.#compare(/** @type {T} */ (next.value), value) >= 0) break;
        node = next;
      }
      before[level] = node;
    }
    return before;
  }

  #isLucky() {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed < 2 ** 30;
  }
}
