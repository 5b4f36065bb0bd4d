import { resumeMysqlDatabase } from "@moorage/contract";
import { defineChange } from "../changes/column-changes.ts";
import { texts } from "../model/texts.ts";

export const resumeDatabase = defineChange({
  kind: "resumeDatabase",
  request: { operation: resumeMysqlDatabase, columns: () => ({ powered: true }) },
  action: "resume",
  work: "resume",
  audited: "resume_database",
  events: ["database_update"],
  keeps: ["powered"],
  starts: true,
  failed: texts.resumeFailed,
});
