import { Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  deprecateImage,
  imageLimitsOf,
  type ImageRow,
  type ImageSettings,
  listEveryImage,
  lockAnyImage,
  publishImage,
  retireImage,
  saveImageLimits,
  wireIdOf,
} from "#images/index.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Limit, Nothing } from "./fields.ts";
import { texts } from "./texts.ts";

const NAME = "1 to 64 lower-case letters, digits, dots, dashes or underscores, a letter or digit first";
const Publication = z.object({
  name: z.string({ error: NAME }).regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, NAME),
  label: z.string().min(1).max(50),
  description: z.string().min(1).max(65_000).optional(),
  vendor: z.string().min(1).max(64).optional(),
  eol: Moment.optional(),
  replace: z.boolean().default(false),
});
const Deprecation = z.object({ eol: Moment.optional() });
/** Null: the default for all accounts. */
const Limits = z.object({ images: Limit.nullable(), total_mb: Limit.nullable(), raw_mb: Limit.nullable() }).partial();

const IMAGE = "/admin/images/:id";
const LIMITS = "/admin/accounts/:id/image-limits";

/** Public images, and the image limits of accounts. */
export function imageCommands(app: FastifyInstance, deps: CommandDeps & { images: ImageSettings }): void {
  const { db, clock, images } = deps;

  app.get<{ Querystring: { account?: string } }>("/admin/images", async ({ query }) => {
    const account = query.account === undefined ? undefined : await findAccount(db, query.account);
    const page = readPage(query);
    const { rows, results } = await listEveryImage(db, page, account?.id);
    return toPage(page, results, rows.map(viewOf));
  });

  // Publishing ends the grants on the image.
  const publish = { path: `${IMAGE}/publish`, body: Publication, notifies: "identity" } as const;
  command(app, deps, publish, async (tx, { eol, ...named }, { id = "" }) =>
    viewOf(
      (await publishImage(tx, id, { ...named, eol: eol === undefined ? null : toDate(eol) }, clock())) ?? missing(id),
    ),
  );

  command(app, deps, { path: `${IMAGE}/deprecate`, body: Deprecation }, async (tx, { eol }, { id = "" }) => {
    const image = (await lockAnyImage(tx, id)) ?? missing(id);
    return viewOf(await deprecateImage(tx, image, eol === undefined ? undefined : toDate(eol), clock()));
  });

  command(app, deps, { path: `${IMAGE}/retire`, body: Nothing }, async (tx, _, { id = "" }) => {
    const image = (await lockAnyImage(tx, id)) ?? missing(id);
    await retireImage(tx, image, clock());
    return viewOf(image);
  });

  app.get<{ Params: { id: string } }>(LIMITS, async ({ params }) => {
    const account = await findAccount(db, params.id);
    return { account: account.id, ...(await imageLimitsOf(db, account.id, images)) };
  });

  command(app, deps, { path: LIMITS, method: "PUT", body: Limits }, async (tx, limits, { id }) => {
    const account = await findAccount(tx, id);
    await saveImageLimits(tx, account.id, limits);
    return { account: account.id, ...(await imageLimitsOf(tx, account.id, images)) };
  });
}

const missing = (id: string): never => {
  throw new DomainError("not-found", { reason: texts.imageUnknown({ id }) });
};

const timeOf = (at: Date | null): string | null => (at === null ? null : toTimestamp(at));

const viewOf = (image: ImageRow) => ({
  id: wireIdOf(image),
  number: image.id,
  account: image.account_id,
  label: image.label,
  description: image.description,
  created_by: image.created_by,
  vendor: image.vendor,
  deprecated: image.deprecated,
  eol: timeOf(image.eol),
  type: image.type,
  status: image.status,
  failed: timeOf(image.failed_at),
  region: image.region,
  size: image.size_mb,
  stored_bytes: image.stored_bytes,
  expiry: timeOf(image.expiry),
  created: toTimestamp(image.created_at),
  updated: toTimestamp(image.updated_at),
});
