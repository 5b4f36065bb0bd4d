import { PROTOCOL, type UploadsReply, type UploadsRequest, type VerifiedRequest } from "@moorage/contract/agent";
import { addVerificationAlert, type ArchiveCalls, findServedNode } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Objects } from "#platform/objects.ts";
import type { Sealer } from "#platform/seal.ts";
import type { ArchiveLock } from "./archive-lock.ts";
import { createRecipe } from "./create-recipe.ts";
import { objectKey } from "./object-names.ts";
import { recordArchived } from "./record-archived.ts";
import { storeKeyring } from "./keys.ts";

type ArchiveDeps = { db: Db; clock: Clock; objects: Objects; lock: ArchiveLock; sealer: Sealer };

/** The gateway's calls about the archives of nodes. */
export const createArchiveCalls = (deps: ArchiveDeps): ArchiveCalls => ({
  uploads: (hostId, request) => presignUploads(deps, hostId, request),
  archived: (hostId, request) => recordArchived(deps, hostId, request),
  recipe: (hostId, request) => createRecipe(deps, hostId, request),
  verified: (hostId, request) => recordVerified(deps, hostId, request),
  keyring: (hostId, request) => storeKeyring(deps, hostId, request),
});

/** Upload addresses in the folder of the node's desired timeline only: no host writes into another history. */
async function presignUploads(
  { db, clock, objects, lock }: ArchiveDeps,
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
  const keys = names.map((name) => objectKey(owner, name));
  const locked = await lock(clock());
  if (locked === undefined)
    return { protocol: PROTOCOL, urls: await Promise.all(keys.map((key) => objects.presignPut(key))) };
  const signed = await Promise.all(keys.map((key) => objects.presignLockedPut(key, locked)));
  return { protocol: PROTOCOL, urls: signed.map(({ url }) => url), headers: signed[0]?.headers };
}

/** The worker decides what it means for the tenant. Reported again before that, it stays one alert. */
const recordVerified = (
  { db, clock }: { db: Db; clock: Clock },
  hostId: number,
  { node, timeline, point, ok, message }: VerifiedRequest,
): Promise<{ protocol: typeof PROTOCOL }> =>
  transact(db, "fleet.verified", async (tx) => {
    const { account_id, database_id } = await findServedNode(tx, hostId, node);
    await tx
      .selectFrom("timelines")
      .select("id")
      .where("id", "=", timeline)
      .where("account_id", "=", account_id)
      .where("database_id", "=", database_id)
      .executeTakeFirstOrThrow(notFound);
    await addVerificationAlert(tx, { account_id, database_id, node }, { ok, message, timeline, point }, clock());
    return { protocol: PROTOCOL };
  });
