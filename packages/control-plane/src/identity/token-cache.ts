import type { Clock } from "#platform/clock.ts";
import type { Principal } from "./principal.ts";

export type KnownToken = { principal: Principal; expiresAt: Date | null };

/**
 * Caches tokens briefly, so that most requests need no lookup. It may only be used while this process listens for
 * revocations: call `open` when listening starts, and `close` when it may have ended. Both empty the cache.
 */
export type TokenCache = {
  get(hash: string): KnownToken | undefined;
  /** Starts a lookup; its result is cached only if nothing was invalidated meanwhile. */
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
        // Clearing everything is rare and cheap, and needs no tracking of last use.
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
