/** Not a failure: the node waits for another member, and checks again. */
export class NotYet extends Error {
  override readonly name = "NotYet";
  readonly againMs: number;
  constructor(waitsFor: string, againMs = 500) {
    super(`Waiting for ${waitsFor}.`);
    this.againMs = againMs;
  }
}

/** The watch wakes the node when there is something to do; this delay only covers what the watch missed. */
export const quietMs = 5000;
