export { createHttpDesk, type Desk } from "./desk.ts";
export { createCardsServer } from "./server.ts";
export { requireNoCoreDumps } from "./core-dumps.ts";
