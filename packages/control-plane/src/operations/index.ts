/** For other capabilities. The relay and the sweeper are the worker's, and bring the Temporal client with them. */
export {
  addSignal,
  findOperation,
  linkEvent,
  linkEvents,
  noteInOperation,
  notComparedYet,
  type OperationRow,
  opening,
  openOperation,
  raisePercent,
  requireCurrent,
  settleOperation,
  timesOf,
} from "./operation-store.ts";
export { TASK_QUEUE } from "./workflow-id.ts";
