/** For other capabilities. The relay and the sweeper are the worker's, and bring the Temporal client with them. */
export {
  addSignal,
  findOperation,
  linkEvent,
  type NewOperation,
  type OperationRow,
  openOperation,
  settleOperation,
} from "./operation-store.ts";
