import type { WorkflowInput } from "#operations/workflow-id.ts";
import { followChange } from "./follow-change.ts";

/** updating → active with the new image when every node runs it, else with the previous one. */
export const patchDatabase = (input: WorkflowInput): Promise<void> => followChange(input);
