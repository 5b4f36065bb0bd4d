import { sql } from "kysely";
import { emit } from "#events/index.ts";
import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { entityOfImage, wireIdOf } from "./entity.ts";
import { findPublicImageToReplace, type ImageRow, lockAnyImage, markImageDeleted, saveImage } from "./image-store.ts";

export type Publication = {
  name: string;
  label: string;
  description?: string | null | undefined;
  vendor?: string | null | undefined;
  eol?: Date | null | undefined;
  /** Retires the image that has the name now. */
  replace: boolean;
};

/**
 * For the operator: moves an image from its account to the public. Only the given values are shown. Publishing again
 * under the same name updates it, and ends its deprecation. Undefined: no such image.
 */
export async function publishImage(
  tx: Tx,
  text: string,
  publication: Publication,
  at: Date,
): Promise<ImageRow | undefined> {
  // Before locking any image: two publications of one name are serialised.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`images/${publication.name}`}, 0))`.execute(tx);
  const image = await lockAnyImage(tx, text);
  if (image === undefined) return undefined;
  const { name, label, description = null, vendor = null, eol = null, replace } = publication;
  const wireId = wireIdOf({ id: image.id, name });
  if (image.name !== null && image.name !== name) throw wrongState(`Image ${image.id} is ${wireIdOf(image)} already.`);
  if (image.status !== "available")
    throw wrongState(`Image ${image.id} is ${image.status}; only an available one can be published.`);

  const taken = await findPublicImageToReplace(tx, name, image.id);
  if (taken !== undefined && !replace)
    throw wrongState(`Image ${taken.id} is ${wireId} already. Retire it, or replace it with this one.`);
  if (taken !== undefined) await markImageDeleted(tx, taken, at);

  const { account_id: accountId } = image;
  if (accountId !== null) await dropGrants(tx, accountId, "image", image.id);
  const published = await saveImage(tx, image, {
    ...{ account_id: null, name, label, description, vendor, eol, deprecated: false, created_by: "operator" },
    ...{ type: "manual", expiry: null, remove_at: null, updated_at: at },
  });
  if (accountId !== null)
    await emit(tx, {
      ...{
        accountId,
        username: null,
        action: "image_update",
        status: "notification",
        entity: entityOfImage(image),
        at,
      },
      message: `The operator made this image public: it is ${wireId} now, and no longer an image of this account.`,
    });
  return published;
}

/** Existing deployments stay; the end of life advises against new ones. */
export async function deprecateImage(tx: Tx, image: ImageRow, eol: Date | undefined, at: Date): Promise<ImageRow> {
  requirePublic(image);
  return saveImage(tx, image, { deprecated: true, ...(eol !== undefined && { eol }), updated_at: at });
}

/** Deletes it for everybody; its objects are removed later, and its name is free. */
export async function retireImage(tx: Tx, image: ImageRow, at: Date): Promise<void> {
  requirePublic(image);
  await markImageDeleted(tx, image, at);
}

function requirePublic(image: ImageRow): void {
  if (image.account_id !== null)
    throw wrongState(`Image ${image.id} is not public: it belongs to account ${image.account_id}.`);
}

const wrongState = (reason: string): DomainError => new DomainError("wrong-state", { reason });
