export { createHttpCardAdmission, type CardAdmission } from "./card-admission.ts";
export { createCardsServer } from "./server.ts";
export { requireNoCoreDumps } from "./core-dumps.ts";
