import type { Clock } from "#platform/clock.ts";
import type { Principal } from "./principal.ts";

export type KnownToken = { principal: Principal; expiresAt: Date | null };

/**
 * Remembers tokens for a moment, so that most requests need no look-up. It may only be used while somebody listens for
 * revocations: `open` when the listening begins, `close` the moment it may have ended. Both forget everything.
 */
export type TokenCache = {
  get(hash: string): KnownToken | undefined;
  /** Begins a look-up; what it finds is remembered only if nothing was forgotten meanwhile. */
  startLookUp(): (hash: string, token: KnownToken) => void;
  forget(): void;
  open(): void;
  close(): void;
};

const REMEMBER_MS = 5_000;
const MOST = 20_000;

export function createTokenCache(clock: Clock): TokenCache {
  const known = new Map<string, { token: KnownToken; until: number }>();
  let usable = false;
  let generation = 0;
  const forget = (): void => {
    known.clear();
    generation++;
  };
  return {
    get(hash) {
      const found = usable ? known.get(hash) : undefined;
      return found !== undefined && found.until > clock().getTime() ? found.token : undefined;
    },
    startLookUp() {
      const startGeneration = generation;
      return (hash, token) => {
        if (!usable || startGeneration !== generation) return;
        // Forgetting all at once is rare, cheap, and needs no order of use to be kept.
        if (known.size >= MOST) known.clear();
        known.set(hash, { token, until: clock().getTime() + REMEMBER_MS });
      };
    },
    forget,
    open() {
      forget();
      usable = true;
    },
    close() {
      usable = false;
      forget();
    },
  };
}
