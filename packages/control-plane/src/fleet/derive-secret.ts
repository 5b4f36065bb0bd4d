import { hkdfSync, randomBytes } from "node:crypto";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { derivationPlace } from "./sealed-columns.ts";

/** 192 bits, 32 characters: the maximum for the password of a replication account. */
const DERIVED_BYTES = 24;

/**
 * A secret that can be made again after its row was lost: it depends on the place and on one secret of the installation,
 * which is in every backup, and which another key of the key ring does not change.
 */
export async function deriveSecret(tx: Tx, sealer: Sealer, place: readonly (string | number)[]): Promise<string> {
  const secret = Buffer.from(await derivationSecret(tx, sealer), "base64url");
  return Buffer.from(hkdfSync("sha256", secret, "", JSON.stringify(place), DERIVED_BYTES)).toString("base64url");
}

/** Made before anything is derived from it, so that no backup lacks it. Of several processes one makes it. */
export async function derivationSecret(db: Db | Tx, sealer: Sealer): Promise<string> {
  const find = async () =>
    (await db.selectFrom("installation").select("derivation_secret").executeTakeFirstOrThrow()).derivation_secret;
  let sealed = await find();
  if (sealed === null) {
    const made = sealer.seal(derivationPlace, randomBytes(32).toString("base64url"));
    await db
      .updateTable("installation")
      .set({ derivation_secret: made })
      .where("derivation_secret", "is", null)
      .execute();
    sealed = await find();
  }
  return sealer.open(derivationPlace, sealed ?? "");
}
