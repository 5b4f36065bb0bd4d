import { operations } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { createCardsServer, type Desk } from "#cards/index.ts";
import { type CardVault, DESK_KEY_HEADER } from "#payment-provider/index.ts";
import type { Bounds } from "#platform/http/shed.ts";
import type { Log } from "#platform/log.ts";
import { createCardDesk, type GivenDeps } from "../api.ts";

export const DESK_KEY = "the key of the desk, known to two";
const paths = new Set(operations.filter(({ servedBy }) => servedBy === "cards").map(({ path }) => path));

type Settings = Bounds & { drainMs: number; trustedProxies: false; vault: CardVault };

/** The process `cards` of a world, and the desk that it asks: both in this process, made when something is for them. */
export function createWorldCards(log: Log, given: GivenDeps, { vault, ...serving }: Settings) {
  let made: { server: FastifyInstance; desk: FastifyInstance } | undefined;
  const make = () => {
    const desk = createCardDesk(log, given, { ...serving, deskKey: DESK_KEY });
    const deps = { desk: askingDirectly(desk), vault, clock: given.clock, log };
    return { desk, server: createCardsServer({ ...deps, tellAgainMs: [] }, serving) };
  };
  return {
    takes: (method: string, url: string): boolean =>
      method.toUpperCase() === "POST" && paths.has(pathOf(url) as `/v4/${string}`),
    server: (): FastifyInstance => (made ??= make()).server,
    desk: (): FastifyInstance => (made ??= make()).desk,
    close: async (): Promise<void> => {
      await Promise.all([made?.server.close(), made?.desk.close()]);
    },
  };
}

const pathOf = (url: string): string =>
  (url.split("?", 1)[0] ?? "")
    .replace(/\/{2,}/g, "/")
    .replace(/^\/v4beta\//, "/v4/")
    .replace(/\/$/, "");

/** Without a socket between them. */
const askingDirectly = (app: FastifyInstance): Desk => ({
  async ask({ path, headers, body }) {
    const reply = await app.inject({
      method: "POST",
      url: path,
      headers: { ...headers, "content-type": "application/json", [DESK_KEY_HEADER]: DESK_KEY },
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
