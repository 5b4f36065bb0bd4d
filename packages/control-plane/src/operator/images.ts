import { toDate, toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
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
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { accountOf, findAccount } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";

/** Public images, and the image limits of accounts. */
export function imageCommands(app: FastifyInstance, deps: CommandDeps & { images: ImageSettings }): void {
  const { db, clock, images } = deps;

  operatorRoute(app, contract.listImages, async ({ query, page }) => {
    const { rows, results } = await listEveryImage(db, page, await accountOf(db, query));
    return toPage(page, results, rows.map(viewOf));
  });

  // Publishing ends the grants on the image.
  const publish: Run<typeof contract.publishImage> = async (tx, { params: { imageId: id }, body }) => {
    const { eol, ...named } = body;
    const published = await publishImage(tx, id, { ...named, eol: eol === undefined ? null : toDate(eol) }, clock());
    return viewOf(published ?? missing(id));
  };
  command(app, deps, contract.publishImage, publish, "identity");

  command(app, deps, contract.deprecateImage, async (tx, { params: { imageId: id }, body: { eol } }) => {
    const image = (await lockAnyImage(tx, id)) ?? missing(id);
    return viewOf(await deprecateImage(tx, image, eol === undefined ? undefined : toDate(eol), clock()));
  });

  command(app, deps, contract.retireImage, async (tx, { params: { imageId: id } }) => {
    const image = (await lockAnyImage(tx, id)) ?? missing(id);
    await retireImage(tx, image, clock());
    return viewOf(image);
  });

  const limitsOf = async (tx: Db | Tx, account: number) => ({ account, ...(await imageLimitsOf(tx, account, images)) });
  operatorRoute(app, contract.viewImageLimits, async ({ params }) =>
    limitsOf(db, (await findAccount(db, params.accountId)).id),
  );
  command(app, deps, contract.setImageLimits, async (tx, { params, body }) => {
    const { id } = await findAccount(tx, params.accountId);
    await saveImageLimits(tx, id, body);
    return limitsOf(tx, id);
  });
}

const missing = (id: string): never => {
  throw new DomainError("not-found", { reason: texts.imageUnknown({ id }) });
};

const timeOf = (at: Date | null): string | null => (at === null ? null : toTimestamp(at));

const viewOf = (image: ImageRow): contract.Image => ({
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
