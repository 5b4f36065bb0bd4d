/** Not a failure: the node waits for somebody else, and looks again. */
export class NotYet extends Error {
  override readonly name = "NotYet";
  readonly againMs: number;
  constructor(waitsFor: string, againMs = 500) {
    super(`Waiting for ${waitsFor}.`);
    this.againMs = againMs;
  }
}

/** The watch wakes the node when there is something to do; this only mends what it missed. */
export const quietMs = 5000;
