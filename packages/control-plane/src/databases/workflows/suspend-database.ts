import type { WorkflowInput } from "#operations/workflow-id.ts";
import { followChange } from "./follow-change.ts";

/** suspending → suspended when every node has stopped, else active again. */
export const suspendDatabase = (input: WorkflowInput): Promise<void> => followChange(input);
