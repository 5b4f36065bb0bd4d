import { fileURLToPath } from "node:url";
import { bundleWorkflowCode, type WorkflowBundleOption } from "@temporalio/worker";

/** From the file that `bin/bundle-workflows.ts` wrote, or bundled now, which takes seconds. */
export const workflowBundle = async (file: string | undefined): Promise<WorkflowBundleOption> =>
  file === undefined ? bundleWorkflows() : { codePath: file };

export const bundleWorkflows = () =>
  bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL("../../workflows.ts", import.meta.url)) });
