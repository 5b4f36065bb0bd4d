/**
 * For other capabilities. The worker imports the relay and the sweeper directly, because they need the Temporal client.
 */
export {
  hostsNotCompared,
  isTrue,
  areChargesCurrent,
  mayWork,
  refusalOf,
  requireCurrent,
} from "./current.ts";
export {
  addSignal,
  findOperation,
  linkEvent,
  linkEvents,
  noteInOperation,
  type OperationRow,
  opening,
  openOperation,
  raisePercent,
  raisePercentWhile,
  settleOperation,
  timesOf,
} from "./operation-store.ts";
export { TASK_QUEUE } from "./workflow-id.ts";
