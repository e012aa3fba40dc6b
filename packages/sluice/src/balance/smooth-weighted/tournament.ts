/**
 * Who has gained most, when everybody gains at each step and only the winner pays: a tournament whose results hold for a while.
 *
 *                     A              each match remembers its winner, and the step at which the loser will have caught up: until then it
 *                ┌────┴────┐         need not be played again. The step at the top is the earliest of all below it.
 *                A         D
 *             ┌──┴──┐   ┌──┴──┐      What a player has is a line in time, `base + weight * step`. Lines of equal weight never cross; of two
 *             A     B   C     D      others the lighter can only be overtaken, once, and division says when.
 *
 * A winner that pays replays the matches on its way up, log2(n) of them. How many others are due depends on the weights; between two
 * wins inside a part of the tree little changes there, so that it comes to a few for each level. (Known as a kinetic tournament: Basch,
 * Guibas and Hershberger, Data Structures for Mobile Data, 1999.)
 */

export interface Player {
  readonly weight: number;
  /** Of two with equally much, the lower wins. */
  readonly order: number;
}

const nobody = -1;
const never = Number.POSITIVE_INFINITY;

// Then steps are counted from 0 again: whole weights stay exact, however many picks there are.
const mostSteps = 2 ** 20;

// Beyond so many cycles, being ahead or behind is left over from weights that are gone, and would take as many turns to make up for.
const mostCycles = 16;

export class Tournament<P extends Player> {
  private readonly players: (P | undefined)[] = [];
  private readonly freePlaces: number[] = [];
  private capacity = 1;
  private step = 0;
  private total = 0;
  /** No player has more than about this, nor owes more. */
  private reach = 0;

  // By place.
  private weights = new Float64Array(1);
  private bases = new Float64Array(1);

  // By match. The root is 1, the children of i are 2i and 2i + 1, and the players themselves begin at `capacity`.
  private winners = new Int32Array(2).fill(nobody);
  private dueSteps = new Float64Array(2).fill(never);

  /** Takes part from now on, with what it had when it last did. Returns its place. */
  add(player: P, had: number): number {
    const place = this.freePlaces.pop() ?? this.players.length;
    if (place === this.capacity) this.grow();
    this.players[place] = player;
    this.weights[place] = player.weight;
    this.bases[place] = had - player.weight * this.step;
    this.total += player.weight;
    this.reach = Math.max(this.reach, Math.abs(had));
    this.enter(place, place);
    return place;
  }

  /** Returns what it has. */
  remove(place: number): number {
    const has = this.valueOf(place);
    this.total -= this.weights[place]!;
    this.players[place] = undefined;
    this.freePlaces.push(place);
    this.enter(place, nobody);
    // Nothing may be left over of fractions that do not add up to 0 again.
    if (this.freePlaces.length === this.players.length) this.total = 0;
    return has;
  }

  /** Gains by its new weight from now on, and keeps what it has. */
  reweigh(place: number): void {
    const { weight } = this.players[place]!;
    this.total += weight - this.weights[place]!;
    this.bases[place] = this.valueOf(place) - weight * this.step;
    this.weights[place] = weight;
    this.enter(place, place);
  }

  /** One step: all gain, except those at `leftOut`; whoever has most pays what was gained. */
  next(leftOut: readonly number[]): P | undefined {
    if (this.reach > mostCycles * this.total) this.limit();
    else if (this.reach < this.total) this.reach = this.total;
    let gained = this.total;
    for (const place of leftOut) {
      gained -= this.weights[place]!;
      this.enter(place, nobody);
    }
    const winner = this.winners[1] === nobody ? nobody : this.stepOn(gained);
    for (const place of leftOut) {
      if (winner !== nobody) this.bases[place]! -= this.weights[place]!;
      this.enter(place, place);
    }
    if (this.step >= mostSteps) this.startOver();
    return this.players[winner];
  }

  private stepOn(gained: number): number {
    this.step += 1;
    this.catchUp(1);
    const winner = this.winners[1]!;
    this.bases[winner]! -= gained;
    this.enter(winner, winner);
    return winner;
  }

  /** From now on nobody is ahead or behind by more than a cycle. */
  private limit(): void {
    const { total } = this;
    this.reach = total;
    for (let place = 0; place < this.players.length; place += 1) {
      if (this.players[place] === undefined) continue;
      const value = Math.min(total, Math.max(-total, this.valueOf(place)));
      this.bases[place] = value - this.weights[place]! * this.step;
    }
    this.playAll();
  }

  private valueOf(place: number): number {
    return this.bases[place]! + this.weights[place]! * this.step;
  }

  /** Somebody stands at a place now, or nobody: the matches above it are played again. */
  private enter(place: number, whoever: number): void {
    let match = this.capacity + place;
    this.winners[match] = whoever;
    for (match >>= 1; match >= 1; match >>= 1) this.play(match);
  }

  /** Plays again what is due by now, from the bottom up. */
  private catchUp(match: number): void {
    if (this.dueSteps[match]! > this.step) return;
    this.catchUp(2 * match);
    this.catchUp(2 * match + 1);
    this.play(match);
  }

  private play(match: number): void {
    const left = this.winners[2 * match]!;
    const right = this.winners[2 * match + 1]!;
    const dueBelow = Math.min(this.dueSteps[2 * match]!, this.dueSteps[2 * match + 1]!);
    if (left === nobody || right === nobody) {
      this.winners[match] = left === nobody ? right : left;
      this.dueSteps[match] = dueBelow;
      return;
    }
    const ahead = this.valueOf(left) - this.valueOf(right);
    const isLeft = ahead > 0 || (ahead === 0 && this.players[left]!.order < this.players[right]!.order);
    const closing = isLeft ? this.weights[right]! - this.weights[left]! : this.weights[left]! - this.weights[right]!;
    this.winners[match] = isLeft ? left : right;
    // Rounded down: a match that is played too early is only played again.
    const dueHere = closing > 0 ? this.step + Math.max(1, Math.floor(Math.abs(ahead) / closing)) : never;
    this.dueSteps[match] = Math.min(dueHere, dueBelow);
  }

  private playAll(): void {
    for (let match = this.capacity - 1; match >= 1; match -= 1) this.play(match);
  }

  private grow(): void {
    const { capacity, winners } = this;
    this.capacity *= 2;
    this.weights = resized(this.weights, this.capacity);
    this.bases = resized(this.bases, this.capacity);
    this.winners = new Int32Array(2 * this.capacity).fill(nobody);
    this.winners.set(winners.subarray(capacity), this.capacity);
    this.dueSteps = new Float64Array(2 * this.capacity).fill(never);
    this.playAll();
  }

  private startOver(): void {
    this.total = 0;
    for (let place = 0; place < this.players.length; place += 1) {
      if (this.players[place] === undefined) continue;
      this.bases[place] = this.valueOf(place);
      this.total += this.weights[place]!;
    }
    this.step = 0;
    this.playAll();
  }
}

function resized(numbers: Float64Array, length: number) {
  const larger = new Float64Array(length);
  larger.set(numbers);
  return larger;
}
