import type { Principal } from "#identity/index.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { type ChangeDeps, changeDatabase } from "./changes/change-database.ts";

export const resumeDatabase = (deps: ChangeDeps, by: Principal, id: number, idempotency: Idempotency): Promise<void> =>
  changeDatabase(deps, { kind: "resumeDatabase", step: "api.resumeMysqlDatabase", by, id, idempotency }, () => ({
    powered: true,
  }));
