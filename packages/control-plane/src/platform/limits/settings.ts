import type { RateClass } from "@moorage/contract";
import type { SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { tlsFileSettings } from "#platform/settings.ts";
import { type Group, type Limit, times } from "./gcra.ts";

/** `800/120`: 800 requests in 120 seconds. */
const Rate = z
  .templateLiteral([z.int().positive(), "/", z.int().positive()], "expected REQUESTS/SECONDS")
  .transform((text) => {
    const [requests, perSeconds] = text.split("/").map(Number) as [number, number];
    return { requests, perSeconds };
  });

/** Below 1 the limits of a group would replace those of its members. */
const Times = z.coerce.number().min(1);

export const valkeySettings = {
  VALKEY_URL: z
    .url()
    .default("redis://127.0.0.1:6379")
    .describe("Valkey, for counters of rate limits and sign-in attempts: `redis://` or `rediss://`.")
    .meta({ secret: true, peer: "valkey" }),
  ...tlsFileSettings("VALKEY_TLS", "Valkey"),
};

export const rateLimitSettings = {
  MOORAGE_RATE_LIMITS: z
    .union([z.literal("off"), z.coerce.number().positive()], "expected off or a number above 0")
    .default(1)
    .describe("`off`, or a factor for all rate limits."),
  MOORAGE_RATE_OVERALL: Rate.prefault("800/120").describe(
    "The limit for all requests of a token or address: `REQUESTS/SECONDS`.",
  ),
  MOORAGE_RATE_SINGLE: Rate.prefault("400/60").describe(
    "The limit for operations on one object: `REQUESTS/SECONDS`. Lists, images and the acceptance of transfers have fixed limits.",
  ),
  MOORAGE_RATE_ACCOUNT: Times.default(4).describe(
    "All tokens of an account together have this many times the limits of one token.",
  ),
  MOORAGE_RATE_NETWORK: Times.default(16).describe(
    "All addresses of an IPv6 /48 together have, without a token, this many times the limits of one /64.",
  ),
};

const COLLECTION = { requests: 200, perSeconds: 60 };
const ACCEPT = { requests: 2, perSeconds: 60 };
const IMAGES = { requests: 20, perSeconds: 60 };

export type RateLimits = Record<RateClass | "overall", Limit> & { timesOf: Record<Group, number> };

export function rateLimitsOf(config: SettingsOf<typeof rateLimitSettings>): RateLimits {
  const factor = config.MOORAGE_RATE_LIMITS === "off" ? 1 : config.MOORAGE_RATE_LIMITS;
  const scaled = (limit: z.output<typeof Rate>) => times(limit, factor);
  return {
    overall: scaled(config.MOORAGE_RATE_OVERALL),
    single: scaled(config.MOORAGE_RATE_SINGLE),
    collection: scaled(COLLECTION),
    accept: scaled(ACCEPT),
    images: scaled(IMAGES),
    timesOf: { account: config.MOORAGE_RATE_ACCOUNT, network: config.MOORAGE_RATE_NETWORK },
  };
}
