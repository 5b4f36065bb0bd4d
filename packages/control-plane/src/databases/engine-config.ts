import type { EngineConfig } from "@moorage/contract";
import type { ErrorDetail } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/**
 * Clients send the object with every setting absent or null, which requests nothing. A value is never dropped silently.
 */
export const faultsOfEngineConfig = (config: EngineConfig | undefined): ErrorDetail[] =>
  settingsIn("engine_config", config ?? {}).map((field) => ({
    field,
    reason: texts.engineSettingFixed({ field }),
  }));

const settingsIn = (group: string, settings: object): string[] =>
  Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    const field = `${group}.${name}`;
    if (value === null || value === undefined) return [];
    return typeof value === "object" && !Array.isArray(value) ? settingsIn(field, value) : [field];
  });
