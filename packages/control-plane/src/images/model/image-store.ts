import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { dropGrants, mayView, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { readWireId } from "./entity.ts";

export type ImageRow = Selectable<Tables["images"]>;
export type ImageCopy = Selectable<Tables["image_copies"]>;

/** A deleted image is hidden from everybody, though its objects may still exist. */
const images = (db: Db | Tx) => db.selectFrom("images").where("images.deleted_at", "is", null);
const imagesOf = (db: Db | Tx, accountId: number) => images(db).where("images.account_id", "=", accountId);

export const hasImage = async (db: Db, accountId: number, id: number): Promise<boolean> =>
  (await imagesOf(db, accountId).select("id").where("id", "=", id).executeTakeFirst()) !== undefined;

export const findImage = (db: Db | Tx, accountId: number, id: number): Promise<ImageRow> =>
  imagesOf(db, accountId).selectAll().where("id", "=", id).executeTakeFirstOrThrow(notFound);

/** Locks the row, so that changes of one image are serialised. */
export const lockImage = (tx: Tx, accountId: number, id: number): Promise<ImageRow> =>
  imagesOf(tx, accountId).selectAll().where("id", "=", id).forUpdate().executeTakeFirstOrThrow(notFound);

/** All of an account, in the one order in which several are locked. */
export const lockImagesOf = (tx: Tx, accountId: number): Promise<ImageRow[]> =>
  imagesOf(tx, accountId).selectAll().orderBy("id").forUpdate().execute();

export const findPublicImage = (db: Db | Tx, name: string): Promise<ImageRow> =>
  images(db).selectAll().where("account_id", "is", null).where("name", "=", name).executeTakeFirstOrThrow(notFound);

/** The image that has this name and is not this one. */
export const findPublicImageToReplace = (tx: Tx, name: string, exceptId: number): Promise<ImageRow | undefined> =>
  images(tx)
    .selectAll()
    .where("account_id", "is", null)
    .where("name", "=", name)
    .where("id", "<>", exceptId)
    .forUpdate()
    .executeTakeFirst();

/** For the operator, who may use the plain number too. Undefined: no such image, or deleted. */
export const lockAnyImage = (tx: Tx, text: string): Promise<ImageRow | undefined> =>
  anyImage(tx, readWireId(/^\d+$/.test(text) ? `private/${text}` : text))
    .selectAll()
    .forUpdate()
    .executeTakeFirst();

const anyImage = (db: Db | Tx, named: ReturnType<typeof readWireId>) =>
  named?.kind === "public"
    ? images(db).where("account_id", "is", null).where("name", "=", named.name)
    : images(db).where("id", "=", named?.id ?? 0);

/** For the operator: public ones and those of all accounts, or of one account. */
export const listEveryImage = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    images(db)
      .selectAll()
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as number)),
    { page, lastly: { by: "images.id" } },
  );

const columns = {
  label: sql.ref("images.label"),
  deprecated: sql.ref("images.deprecated"),
  is_public: sql`(images.account_id is null)`,
  size: sql.ref("images.size_mb"),
  type: sql.ref("images.type"),
  vendor: sql.ref("images.vendor"),
  status: sql.ref("images.status"),
};

/** Public images, and those of the account that this user may view. Without a user: public ones only. */
export const listImagePage = (db: Db, principal: Principal | undefined, page: PageRequest, filter: Filter) =>
  listPage(
    images(db)
      .selectAll()
      .where((is) =>
        principal === undefined
          ? is("images.account_id", "is", null)
          : is.or([
              is("images.account_id", "is", null),
              is.and([is("images.account_id", "=", principal.accountId), mayView(principal, "image", "images.id")]),
            ]),
      ),
    { page, filter, columns, lastly: { by: "images.id" } },
  );

/** The stores of these images. An image that is not available has none yet. */
export const copiesOf = (db: Db | Tx, ids: readonly number[]): Promise<ImageCopy[]> =>
  db.selectFrom("image_copies").selectAll().where("image_id", "=", sql<number>`any(${ids}::bigint[])`).execute();

/** An upload without an operation: its data have not been seen. */
export const waitsForData = ({ status, operation_id, failed_at }: ImageRow): boolean =>
  status === "pending_upload" && operation_id === null && failed_at === null;

/** Taken before the row is written: the address of an upload contains it. */
export async function nextImageId(db: Db | Tx): Promise<number> {
  const { rows } = await sql<{ id: number }>`select next_id('images_seq') as id`.execute(db);
  return (rows[0] as { id: number }).id;
}

export const insertImage = (tx: Tx, row: Insertable<Tables["images"]>): Promise<ImageRow> =>
  tx.insertInto("images").values(row).returningAll().executeTakeFirstOrThrow();

/** The caller has locked the row. */
export const saveImage = (tx: Tx, { id }: { id: number }, change: Updateable<Tables["images"]>): Promise<ImageRow> =>
  tx.updateTable("images").set(change).where("id", "=", id).returningAll().executeTakeFirstOrThrow();

/**
 * Deletes an image for its account, with all grants on it. The caller has locked the row; its objects are cleared
 * later.
 */
export async function markImageDeleted(
  tx: Tx,
  { id, account_id }: Pick<ImageRow, "id" | "account_id">,
  at: Date,
): Promise<void> {
  await saveImage(tx, { id }, { deleted_at: at, updated_at: at });
  if (account_id !== null) await dropGrants(tx, account_id, "image", id);
}
