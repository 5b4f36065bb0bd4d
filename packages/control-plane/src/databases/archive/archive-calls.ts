import type { ArchiveCalls } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Objects } from "#platform/objects.ts";
import type { Sealer } from "#platform/seal.ts";
import { createRecipe } from "./create-recipe.ts";
import { presignUploads } from "./presign-uploads.ts";
import { recordArchived } from "./record-archived.ts";
import { recordVerified } from "./record-verified.ts";
import { storeKeyring } from "./store-keyring.ts";

/** The gateway's calls about the archives of nodes. */
export const createArchiveCalls = (deps: { db: Db; clock: Clock; objects: Objects; sealer: Sealer }): ArchiveCalls => ({
  uploads: (hostId, request) => presignUploads(deps, hostId, request),
  archived: (hostId, request) => recordArchived(deps, hostId, request),
  recipe: (hostId, request) => createRecipe(deps, hostId, request),
  verified: (hostId, request) => recordVerified(deps, hostId, request),
  keyring: (hostId, request) => storeKeyring(deps, hostId, request),
});
