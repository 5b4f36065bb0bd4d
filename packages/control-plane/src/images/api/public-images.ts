import { sql } from "kysely";
import { emit } from "#events/index.ts";
import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { entityOfImage, wireIdOf } from "../model/entity.ts";
import {
  findPublicImageToReplace,
  type ImageRow,
  lockAnyImage,
  markImageDeleted,
  saveImage,
} from "../model/image-store.ts";
import { texts } from "../model/texts.ts";

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
  if (image.name !== null && image.name !== name)
    throw wrongState(texts.publishedUnderOtherName({ id: image.id, wireId: wireIdOf(image) }));
  if (image.status !== "available") throw wrongState(texts.notAvailable({ id: image.id, status: image.status }));

  const taken = await findPublicImageToReplace(tx, name, image.id);
  if (taken !== undefined && !replace) throw wrongState(texts.publicNameTaken({ id: taken.id, wireId }));
  if (taken !== undefined) await markImageDeleted(tx, taken, at);

  const { account_id: accountId } = image;
  if (accountId !== null) await dropGrants(tx, accountId, "image", image.id);
  const published = await saveImage(tx, image, {
    account_id: null,
    name,
    label,
    description,
    vendor,
    eol,
    deprecated: false,
    created_by: "operator",
    type: "manual",
    expiry: null,
    remove_at: null,
    updated_at: at,
  });
  if (accountId !== null)
    await emit(tx, {
      accountId,
      username: null,
      action: "image_update",
      status: "notification",
      entity: entityOfImage(image),
      at,
      message: texts.madePublic({ wireId }),
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
  if (image.account_id !== null) throw wrongState(texts.notPublic({ id: image.id, accountId: image.account_id }));
}

const wrongState = (reason: Text): DomainError => new DomainError("wrong-state", { reason });
