import { PROTOCOL, type UploadsReply, type UploadsRequest } from "@moorage/contract/agent";
import { findServedNode } from "#fleet/index.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import type { Objects } from "#platform/objects.ts";
import { objectKey } from "./object-names.ts";

/** Upload addresses in the folder of the node's desired timeline only: no host writes into another history. */
export async function presignUploads(
  { db, objects }: { db: Db; objects: Objects },
  hostId: number,
  { node, timeline, names }: UploadsRequest,
): Promise<UploadsReply> {
  const owner = await transact(db, "fleet.uploads", async (tx) => {
    const { account_id, database_id, desired_spec } = await findServedNode(tx, hostId, node);
    if (desired_spec?.data?.timeline !== timeline) throw notFound();
    // A former archiver that has not learned of the change yet.
    if (desired_spec.archive?.archiver === false && names.some((name) => name.startsWith("logs/"))) throw notFound();
    return { account_id, database_id, id: timeline };
  });
  const urls = await Promise.all(names.map((name) => objects.presignPut(objectKey(owner, name))));
  return { protocol: PROTOCOL, urls };
}
