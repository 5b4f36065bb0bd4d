import type { NodeContext } from "../node/node-context.ts";
import type { ProvisionDeps } from "../provision/provision-context.ts";
import type { RestoreDeps } from "../restore/make-data.ts";
import type { SpecStore } from "../specs/spec-store.ts";

/** What the steps of all folders need. */
export type StepDeps = ProvisionDeps &
  RestoreDeps & {
    store: SpecStore;
    /** Archives everything that was committed until now. Undefined while there is no archive. */
    shipNow?: (node: string, signal: AbortSignal) => Promise<void>;
  };

/** Everything that a step may use during one run for one node. */
export type StepContext = NodeContext & StepDeps;
