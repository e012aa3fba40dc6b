/**
 * What keeps two nodes from counting one key, and a caller from using a grant too late: one name for each, so that the simulation can
 * take them away one by one and see the auditor object. The server has all of them, always: no setting leads here.
 */
export interface Fences {
  /** The owner's right is looked at in the very tick that decides. */
  readonly rightInTheTick: boolean;
  /** The right is counted from when the renewal was sent, not from when its answer came. */
  readonly rightFromSending: boolean;
  /** A renewal whose outcome is not known gives no right. */
  readonly unknownRenewalIsNone: boolean;
  /** Renewals and changes of the slot table compare revisions. */
  readonly compareRevisions: boolean;
  /** A silent node is replaced only after its right must have ended, by the watcher's own clock. */
  readonly observedSilence: boolean;
  /** Clocks may run fast or slow: rights end earlier, silence lasts longer, windows are wider. */
  readonly driftAllowance: boolean;
  /** A machine that slept has lost its right, though its clock says otherwise. */
  readonly suspensionEndsRight: boolean;
  /** A new owner without the old one's state refuses until all that it may have granted is out of the window. */
  readonly quarantine: boolean;
  /** Windows are wider by the time that a grant may be under way. */
  readonly widerWindow: boolean;
  /** What a node does not own it does not count. */
  readonly onlyOwnersCount: boolean;
  /** A shard that is handed over decides nothing from the moment its state is taken. */
  readonly freezeBeforeHandOver: boolean;
  /** Handed-over state is used only if the slot table names that very offer. */
  readonly offerNamedByTable: boolean;
  /** A hand-over whose outcome is not known is ruled out in etcd before the old owner goes on. */
  readonly ruleOutBeforeThaw: boolean;
  /** State travels as ages: the taker's clock is set by it, not it by the taker's clock. */
  readonly agesNotDates: boolean;
  /** An older slot table never replaces a newer one. */
  readonly tableNeverGoesBack: boolean;
  /** An owner has at most so many grants of a key that its standby has not confirmed. */
  readonly boundedLag: boolean;
  /** A standby that takes over counts those as used. */
  readonly lagCountsAsUsed: boolean;
  /** An owner goes on without its standby only after etcd says so. */
  readonly lossRecordedFirst: boolean;
  /** Late messages of an earlier copy change nothing. */
  readonly copySessions: boolean;
  /** Grants of long windows are written down before they are given. */
  readonly reserveAhead: boolean;
  /** What is never refused is done once, whoever owns the key when it is sent again. */
  readonly doneOnce: boolean;
}

export const allFences: Fences = {
  rightInTheTick: true,
  rightFromSending: true,
  unknownRenewalIsNone: true,
  compareRevisions: true,
  observedSilence: true,
  driftAllowance: true,
  suspensionEndsRight: true,
  quarantine: true,
  widerWindow: true,
  onlyOwnersCount: true,
  freezeBeforeHandOver: true,
  offerNamedByTable: true,
  ruleOutBeforeThaw: true,
  agesNotDates: true,
  tableNeverGoesBack: true,
  boundedLag: true,
  lagCountsAsUsed: true,
  lossRecordedFirst: true,
  copySessions: true,
  reserveAhead: true,
  doneOnce: true,
};
