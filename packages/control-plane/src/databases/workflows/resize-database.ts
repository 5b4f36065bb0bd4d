import type { WorkflowInput } from "#operations/workflow-id.ts";
import { followChange } from "./follow-change.ts";

/** updating → active with the new plan when every node has its size, else with the previous plan. */
export const resizeDatabase = (input: WorkflowInput): Promise<void> => followChange(input);
