import type { Principal } from "#identity/index.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Sealer } from "#platform/seal.ts";
import { type ChangeDeps, changeDatabase } from "./changes/change-database.ts";
import { newPassword } from "./create-database.ts";
import { passwordPlace } from "./entity.ts";

/** The new password is shown at once and in force when the hosts have it; the old one never comes back. */
export const resetCredentials = (
  deps: ChangeDeps & { sealer: Sealer },
  by: Principal,
  id: number,
  idempotency: Idempotency,
): Promise<void> =>
  changeDatabase(
    deps,
    { kind: "resetCredentials", step: "api.resetMysqlCredentials", by, id, idempotency },
    (_tx, { credentials_version }) => ({
      admin_password: deps.sealer.seal(passwordPlace(by.accountId, id), newPassword()),
      credentials_version: credentials_version + 1,
    }),
  );
