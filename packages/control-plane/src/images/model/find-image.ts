import { invalidToken, mayUse, type Principal, whyNoToken } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readWireId } from "./entity.ts";
import { findImage, findPublicImage, type ImageRow } from "./image-store.ts";
import { texts } from "./texts.ts";

/** By the id of the path. The response does not reveal whether a private image exists. */
export async function imageToView(db: Db, principal: Principal | undefined, wireId: string): Promise<ImageRow> {
  const named = readWireId(wireId);
  if (named === undefined) throw notFound();
  if (named.kind === "public") return findPublicImage(db, named.name);
  if (principal === undefined) throw invalidToken(whyNoToken(undefined));
  return requireImage(db, principal, named.id, "read_only");
}

/** The id of a private image that this user may change. Everybody may see a public image, no tenant may change it. */
export async function imageToChange(db: Db, principal: Principal, wireId: string): Promise<number> {
  const named = readWireId(wireId);
  if (named === undefined) throw notFound();
  if (named.kind === "public") {
    await findPublicImage(db, named.name);
    throw new DomainError("forbidden", { reason: texts.publicImageReadOnly() });
  }
  return (await requireImage(db, principal, named.id, "read_write")).id;
}

async function requireImage(
  db: Db | Tx,
  principal: Principal,
  id: number,
  needed: "read_only" | "read_write",
): Promise<ImageRow> {
  const image = await findImage(db, principal.accountId, id);
  if (!(await mayUse(db, principal, "image", id, needed))) throw notFound();
  return image;
}
