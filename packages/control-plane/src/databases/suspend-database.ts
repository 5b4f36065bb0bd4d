import type { Principal } from "#identity/index.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { type ChangeDeps, changeDatabase } from "./changes/change-database.ts";

/** The server stops and the firewall closes; data, DNS records, port and the place on the host stay. */
export const suspendDatabase = (deps: ChangeDeps, by: Principal, id: number, idempotency: Idempotency): Promise<void> =>
  changeDatabase(deps, { kind: "suspendDatabase", step: "api.suspendMysqlDatabase", by, id, idempotency }, () => ({
    powered: false,
  }));
