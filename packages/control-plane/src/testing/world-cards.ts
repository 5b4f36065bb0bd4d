import { operations } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { createCardsServer, type CardAdmission } from "#cards/index.ts";
import { type CardVault, ADMISSION_KEY_HEADER } from "#payment-provider/index.ts";
import type { Bounds } from "#platform/http/shed.ts";
import type { Log } from "#platform/log.ts";
import { createCardAdmission, type GivenDeps } from "../api.ts";

export const ADMISSION_KEY = "the key of the card admission, known to two";
const paths = new Set(operations.filter(({ servedBy }) => servedBy === "cards").map(({ path }) => path));

type Settings = Bounds & { drainMs: number; trustedProxies: false; vault: CardVault };

/**
 * The process `cards` of a world, and the card admission that it calls: both in this process, created when first
 * needed.
 */
export function createWorldCards(log: Log, given: GivenDeps, { vault, ...serving }: Settings) {
  let made: { server: FastifyInstance; cardAdmission: FastifyInstance } | undefined;
  const make = () => {
    const cardAdmission = createCardAdmission(log, given, { ...serving, admissionKey: ADMISSION_KEY });
    const deps = { cardAdmission: injectingAdmission(cardAdmission), vault, clock: given.clock, log };
    return { cardAdmission, server: createCardsServer({ ...deps, retryAfterMs: [] }, serving) };
  };
  return {
    takes: (method: string, url: string): boolean =>
      method.toUpperCase() === "POST" && paths.has(pathOf(url) as `/v4/${string}`),
    server: (): FastifyInstance => (made ??= make()).server,
    cardAdmission: (): FastifyInstance => (made ??= make()).cardAdmission,
    close: async (): Promise<void> => {
      await Promise.all([made?.server.close(), made?.cardAdmission.close()]);
    },
  };
}

const pathOf = (url: string): string =>
  (url.split("?", 1)[0] ?? "")
    .replace(/\/{2,}/g, "/")
    .replace(/^\/v4beta\//, "/v4/")
    .replace(/\/$/, "");

/** Without a socket between them. */
const injectingAdmission = (app: FastifyInstance): CardAdmission => ({
  async post({ path, headers, body }) {
    const reply = await app.inject({
      method: "POST",
      url: path,
      headers: { ...headers, "content-type": "application/json", [ADMISSION_KEY_HEADER]: ADMISSION_KEY },
      payload: JSON.stringify(body),
    });
    const given = Object.entries(reply.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: reply.statusCode,
      headers: Object.fromEntries(given) as Record<string, string>,
      body: reply.json(),
    };
  },
  check: async () => {},
});
