import { generateKeyPair, hkdfSync } from "node:crypto";
import { promisify } from "node:util";
import type { JWK } from "oidc-provider";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { KeyRing, Sealer } from "#platform/seal.ts";

/** The keys that sign cookies: the newest first, and former ones while an operator rotates them. */
export function cookieKeysOf({ current, keys }: KeyRing): string[] {
  const derived = (id: string): string =>
    Buffer.from(hkdfSync("sha256", Buffer.from(keys[id] ?? "", "base64"), "", "moorage auth cookies", 32)).toString(
      "base64url",
    );
  return [current, ...Object.keys(keys).filter((id) => id !== current)].map(derived);
}

const ID = "id-tokens-1";
const placeOf = (id: string) => ["signing_keys", id] as const;

/** Created by the first process that starts: if two start at once, both use the one that was stored. */
export async function findSigningKey({ db, clock, sealer }: { db: Db; clock: Clock; sealer: Sealer }): Promise<JWK> {
  const find = () => db.selectFrom("signing_keys").select("jwk").where("id", "=", ID).executeTakeFirst();
  let row = await find();
  if (row === undefined) {
    const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
    const jwk = JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: ID, alg: "RS256", use: "sig" });
    await db
      .insertInto("signing_keys")
      .values({ id: ID, jwk: sealer.seal(placeOf(ID), jwk), created_at: clock() })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    row = await find();
  }
  if (row === undefined) throw new Error("The signing key was written and cannot be read.");
  return JSON.parse(sealer.open(placeOf(ID), row.jwk)) as JWK;
}
