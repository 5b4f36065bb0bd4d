/** After how long without an answer a server is reported as unresponsive, and killed. */
export type LivenessLimits = { reportAfterMs: number; killAfterMs: number };

/** One look at a server whose process exists. */
export type Look = {
  answers: boolean;
  /** It has not been ready since its start: a recovery may take any time. */
  isStarting: boolean;
  /** Its disk is full: statements wait for space, which a restart does not make. */
  isOutOfDisk: boolean;
};

/** Since when the server has not answered although it should; undefined: it does. */
export const silentSince = (before: number | undefined, look: Look, now: number): number | undefined =>
  look.answers || look.isStarting || look.isOutOfDisk ? undefined : (before ?? now);

/** `silent`: for a moment, which no person needs to know. `hung`: it will not come back by itself. */
export type Liveness = "responsive" | "silent" | "unresponsive" | "hung";

export function livenessOf(since: number | undefined, now: number, limits: LivenessLimits): Liveness {
  if (since === undefined) return "responsive";
  const silentMs = now - since;
  if (silentMs >= limits.killAfterMs) return "hung";
  return silentMs >= limits.reportAfterMs ? "unresponsive" : "silent";
}
