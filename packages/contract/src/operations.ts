import * as databases from "./databases.ts";
import * as events from "./events.ts";
import type { Operation } from "./operation.ts";
import * as regions from "./regions.ts";

const isOperation = (value: unknown): value is Operation =>
  typeof value === "object" && value !== null && "method" in value && "path" in value && "reply" in value;

/** Every operation of the interface. Routes, the OpenAPI document, the client and the every-operation test come from it. */
export const operations: readonly Operation[] = [databases, events, regions]
  .flatMap((family) => Object.values(family) as unknown[])
  .filter(isOperation);
