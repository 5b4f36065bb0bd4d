/** Not a failure: the node waits for another member, and checks again. */
export class NotYet extends Error {
  override readonly name = "NotYet";
  readonly againMs: number;
  constructor(waitsFor: string, againMs = 500) {
    super(`Waiting for ${waitsFor}.`);
    this.againMs = againMs;
  }
}

/** Waits for the limit of deletions, which a person can lift. It holds nothing while it waits. */
export class Held extends NotYet {
  constructor(message: string) {
    super("the limit of deletions", quietMs);
    this.message = message;
  }
}

/** The watch wakes the node when there is something to do; this delay only covers what the watch missed. */
export const quietMs = 5000;

/** Doubles from one second. The first retry of something that worked before has no delay. */
export const stepDelayMs = (attempt: number): number =>
  attempt <= 0 ? 0 : Math.min(1000 * 2 ** (attempt - 1), 30_000);

/** Jittered, so that a fleet does not overload a gateway that has just returned. */
export const networkDelayMs = (attempt: number, random: () => number = Math.random): number =>
  Math.round(Math.min(250 * 2 ** Math.min(attempt, 10), 10_000) * (0.5 + random() / 2));

/** The gateway was unreachable or could not answer: the request may or may not have been valid. */
export class GatewayAway extends Error {
  override readonly name = "GatewayAway";
}
