import type { SettingsOf } from "@moorage/contract/settings";
import { Valkey } from "iovalkey";
import { type PeerTls, readTls, tlsFilesOf } from "#platform/peers.ts";
import type { Log } from "#platform/log.ts";
import { intervalMs, type Limit } from "./gcra.ts";
import type { valkeySettings } from "./settings.ts";

/** The longest that a request waits for its rate limit. */
const PATIENCE_MS = 50;

/** In microseconds. The server's clock, so that all processes agree, unless the last argument is a time. */
const READ_CLOCK = `
local now = tonumber(ARGV[#ARGV])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end
`;

/**
 * All limits of a request are checked in one step: if one refuses, none is charged. What was spent under a limit of a
 * longer period counts as all of the present one, so that a changed setting takes effect at once. Numbers are formatted
 * explicitly: Lua's own conversion drops digits after the fourteenth.
 */
const TAKE = `${READ_CLOCK}
local ahead = {}
local allowed = 1
for i, key in ipairs(KEYS) do
  local most = tonumber(ARGV[i * 2])
  ahead[i] = math.max(0, tonumber(redis.call('GET', key) or '0') - now)
  if ahead[i] > most then
    ahead[i] = most
    redis.call('SET', key, string.format('%.0f', now + most), 'PX', math.ceil(most / 1000))
  end
  if ahead[i] + ARGV[i * 2 - 1] > most then allowed = 0 end
end
if allowed == 1 then
  for i, key in ipairs(KEYS) do
    ahead[i] = ahead[i] + ARGV[i * 2 - 1]
    redis.call('SET', key, string.format('%.0f', now + ahead[i]), 'PX', math.ceil(ahead[i] / 1000))
  end
end
return { allowed, unpack(ahead) }
`;

/** Returns time that a caller had spent; the rest stays spent. */
const REFUND = `${READ_CLOCK}
for i, key in ipairs(KEYS) do
  local ahead = tonumber(redis.call('GET', key) or '0') - now - ARGV[i]
  if ahead > 0 then redis.call('SET', key, string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000))
  else redis.call('DEL', key) end
end
return 0
`;

type Taken = { allowed: boolean; aheadMs: number[] };
export type SharedLimits = {
  /** Rejects at once, or within the limit of waiting, when the server does not answer. */
  take(keys: readonly string[], limits: readonly Limit[]): Promise<Taken>;
  /** Milliseconds for each; more than was spent counts as all of it. Rejects as `take` does. */
  refund(keys: readonly string[], ms: readonly number[]): Promise<void>;
  close(): void;
};

/** `now` replaces the server's clock, in milliseconds, so that a test's limits refill only when it says so. */
export type SharedLimitsOptions = { patienceMs?: number; now?: () => number; tls?: PeerTls | undefined };

export const composeSharedLimits = (config: SettingsOf<typeof valkeySettings>, log: Log): SharedLimits => {
  const files = tlsFilesOf(config, "VALKEY_TLS");
  return createSharedLimits(config.VALKEY_URL, log, { tls: files === undefined ? undefined : readTls(files) });
};

export function createSharedLimits(url: string, log: Log, options: SharedLimitsOptions = {}): SharedLimits {
  const { patienceMs = PATIENCE_MS, now = () => 0, tls } = options;
  const clock = (): number => Math.round(now() * 1000);
  const valkey = new Valkey(url, {
    // No command waits in a queue for a server that is unreachable.
    enableOfflineQueue: false,
    ...(tls === undefined ? {} : { tls }),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: patienceMs,
    connectTimeout: 1000,
    retryStrategy: (times) => Math.min(times * 100, 1000),
    keyPrefix: "rate:",
    scripts: { take: { lua: TAKE }, give: { lua: REFUND } },
  }) as Valkey &
    Record<"take" | "give", (count: number, ...keysThenArguments: (string | number)[]) => Promise<number[]>>;
  valkey.on("error", (error) => log.debug({ err: error }, "Valkey is unreachable"));
  return {
    async take(keys, limits) {
      const scriptArguments = limits.flatMap((limit) => [
        Math.round(intervalMs(limit) * 1000),
        limit.perSeconds * 1_000_000,
      ]);
      const [allowed, ...aheadMicros] = await valkey.take(keys.length, ...keys, ...scriptArguments, clock());
      return { allowed: allowed === 1, aheadMs: aheadMicros.map((micros) => micros / 1000) };
    },
    async refund(keys, ms) {
      await valkey.give(keys.length, ...keys, ...ms.map((each) => Math.round(each * 1000)), clock());
    },
    close: () => valkey.disconnect(),
  };
}
