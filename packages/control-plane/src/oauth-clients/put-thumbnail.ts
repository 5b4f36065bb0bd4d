import type { Principal } from "#identity/index.ts";
import { lockClient } from "./client-store.ts";
import type { ClientDeps } from "./create-client.ts";
import { recordClientChange } from "./record-change.ts";
import type { MakeThumbnail } from "./thumbnail.ts";
import { saveThumbnail } from "./thumbnail-store.ts";

/** The image is decoded before the transaction begins: decoding is slow and must not hold locks. */
export async function putThumbnail(
  { db, clock, makeThumbnail }: ClientDeps & { makeThumbnail: MakeThumbnail },
  by: Principal,
  id: string,
  file: Buffer,
): Promise<void> {
  const png = await makeThumbnail(file);
  await db.transaction().execute(async (tx) => {
    const at = clock();
    const client = await lockClient(tx, by.accountId, id);
    await saveThumbnail(tx, id, png, at);
    await recordClientChange(tx, by, client, {
      audited: "update_oauth_client",
      event: "oauth_client_update",
      detail: { fields: ["thumbnail"] },
      at,
    });
  });
}
