/**
 * For other capabilities. The worker imports the relay and the sweeper directly, because they need the Temporal client.
 */
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
