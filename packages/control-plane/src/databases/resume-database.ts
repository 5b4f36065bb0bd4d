import type { Principal } from "#identity/index.ts";
import type { Once } from "#platform/http/once.ts";
import { type ChangeDeps, changeDatabase } from "./change-database.ts";

export const resumeDatabase = (deps: ChangeDeps, by: Principal, id: number, once: Once): Promise<void> =>
  changeDatabase(deps, { kind: "resumeDatabase", step: "api.resumeMysqlDatabase", by, id, once }, () => ({
    powered: true,
  }));
