import { suspendMysqlDatabase } from "@moorage/contract";
import { defineChange } from "../changes/column-changes.ts";
import { texts } from "../model/texts.ts";

/** The server stops and the firewall closes; data, DNS records, port and the place on the host stay. */
export const suspendDatabase = defineChange({
  kind: "suspendDatabase",
  request: { operation: suspendMysqlDatabase, columns: () => ({ powered: false }) },
  action: "suspend",
  work: "suspend",
  audited: "suspend_database",
  events: ["database_update"],
  keeps: ["powered"],
  failed: texts.suspendFailed,
});
