import type { Db } from "#platform/db/database.ts";
import { checkPhase, type Progress } from "./set-desired.ts";

export const createFleetActivities = ({ db }: { db: Db }) => ({
  checkPhaseOf: (operationId: number, phase: string): Promise<Progress> => checkPhase(db, operationId, phase),
});
export type FleetActivities = ReturnType<typeof createFleetActivities>;
