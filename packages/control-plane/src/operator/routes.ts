import { timingSafeEqual } from "node:crypto";
import { DeletionAllowance } from "@moorage/contract/agent";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { findUser, issueToken, saveAccount, saveUser } from "#identity/index.ts";
import { registerHost } from "#fleet/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError, invalid, notFound } from "#platform/errors.ts";
import { validate } from "#platform/http/validate.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { saveEngineVersion, savePlan, saveRegion } from "#regions/index.ts";
import { listHosts } from "./host-list.ts";
import { recover } from "./recover.ts";

export type OperatorDeps = { db: Db; clock: Clock; sealer: Sealer; operatorTokenSha256: string };

const name = z.string().min(1).max(64);
const amount = z.int().positive();
const Region = z.object({ id: name, label: name, country: z.string().length(2) });
const Plan = z.object({
  id: name,
  label: name,
  class: name,
  memory_mb: amount,
  disk_mb: amount,
  vcpus: z.number().positive(),
});
const Engine = z.object({
  id: z.string().regex(/^mysql\/[\w.]+$/, "mysql/<version>"),
  image: z.hex().length(64),
  prepared: z.hex().length(64),
});
const Account = z.object({
  company: name,
  email: z.email(),
  limits: z.object({ databases: amount, nodes: amount, memory_mb: amount, disk_mb: amount }),
});
const User = z.object({ username: name, email: z.email(), restricted: z.boolean() });
const Token = z.object({ label: name, scopes: z.array(z.string()).min(1) });
const Host = z.object({
  name,
  region: name,
  failure_domain: name,
  address: z.ipv4(),
  node_network: z.cidrv4().endsWith("/20", "a /20: one address for each port of the host"),
  memory_mb: amount,
  disk_mb: amount,
  vcpus: z.number().positive(),
});
const Recover = z.object({ wait_seconds: z.number().min(0).max(300).default(30), without: z.array(name).default([]) });

/** The operator's interface. Every call is authenticated and in the audit; each can be repeated. */
export function operatorRoutes(app: FastifyInstance, deps: OperatorDeps): void {
  const { db, clock } = deps;
  app.addHook("onRequest", async (request) => {
    // By the route, not by the path as it was written: `/%61dmin` leads there too.
    if (request.routeOptions.url !== "/health") requireOperator(deps, request);
  });

  /** One command: its change and its audit line, together. */
  const command = <Schema extends z.ZodType, Reply extends object>(
    path: string,
    schema: Schema,
    run: (tx: Tx, body: z.output<Schema>, params: Record<string, string>) => Promise<Reply>,
  ): void => {
    app.post(path, async (request) => {
      const body = validate(schema, request.body ?? {});
      const params = request.params as Record<string, string>;
      return db.transaction().execute(async (tx) => {
        const reply = await run(tx, body, params);
        await audit(tx, {
          at: clock(),
          account: null,
          actor: "operator",
          action: `POST ${path}`,
          target: request.url,
          detail: body as object,
        });
        return reply;
      });
    });
  };

  command("/admin/regions", Region, async (tx, region) => (await saveRegion(tx, region), region));
  command("/admin/plans", Plan, async (tx, plan) => (await savePlan(tx, plan), plan));
  command("/admin/engines", Engine, async (tx, { id, image, prepared }) => {
    const [engine = "", version = ""] = id.split("/");
    const saved = { id, engine, version, image, prepared };
    await saveEngineVersion(tx, saved);
    return saved;
  });
  command("/admin/accounts", Account, (tx, account) => saveAccount(tx, account, clock()));
  command("/admin/accounts/:id/users", User, async (tx, user, { id }) => {
    const { username, restricted } = await saveUser(tx, Number(id), user, clock());
    return { username, restricted };
  });
  command("/admin/accounts/:id/users/:username/tokens", Token, async (tx, token, { id, username = "" }) => ({
    token: await issueToken(tx, await findUser(tx, Number(id), username), { ...token, now: clock() }),
  }));
  command("/admin/hosts", Host, (tx, host) => registerHost(tx, host, clock()));
  command("/admin/hosts/:id/allowance", DeletionAllowance, async (tx, allowance, { id }) => {
    if (allowance.host !== Number(id)) throw invalid("host", `${id}, the host that the path names`);
    const saved = await tx
      .updateTable("hosts")
      .set({ deletion_allowance: JSON.stringify(allowance) })
      .where("id", "=", Number(id))
      .returning("id")
      .executeTakeFirst();
    if (saved === undefined) throw notFound();
    return allowance;
  });

  app.addHook("onResponse", async (request, reply) => {
    if (request.url.endsWith("/allowance") && reply.statusCode === 200) await notify(db, "host");
  });
  app.get("/admin/hosts", async () => ({ data: await listHosts(db, clock()) }));
  app.post("/admin/recover", async (request) => recover(deps, validate(Recover, request.body ?? {})));
}

function requireOperator(deps: OperatorDeps, request: FastifyRequest): void {
  const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const given = sha256(token);
  if (!timingSafeEqual(given, Buffer.from(deps.operatorTokenSha256, "hex")))
    throw new DomainError("unauthorized", { reason: "This needs the operator's token." });
}
