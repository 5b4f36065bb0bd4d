import type { WorkflowInput } from "#operations/workflow-id.ts";
import { followChange } from "./follow-change.ts";

/** updating → active. The new password stays desired, even when a host is late. */
export const resetCredentials = (input: WorkflowInput): Promise<void> => followChange(input);
