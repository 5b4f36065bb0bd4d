import type { WorkflowInput } from "#operations/workflow-id.ts";
import { followChange } from "./follow-change.ts";

/** resuming → active when every node answers, else suspended again. */
export const resumeDatabase = (input: WorkflowInput): Promise<void> => followChange(input);
