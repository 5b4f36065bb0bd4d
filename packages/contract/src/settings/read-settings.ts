import { z } from "zod";
import { likelyMeant } from "../likely-meant.ts";
import { clientVariables } from "./client-variables.ts";
import { settingNames } from "./setting-names.ts";
import { faultsTogether } from "./setting-rules.ts";

/** It has a description; a secret one has `secret` as metadata. */
export type Setting = z.ZodType;
/** By the names of their environment variables. */
export type SettingFields = Readonly<Record<string, Setting>>;
export type SettingsOf<Fields extends SettingFields> = z.output<z.ZodObject<Fields>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** For every process. */
export const logSettings = {
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("The least severe messages that are logged: trace, debug, info, warn, error, fatal or silent."),
};

/** An optional setting in a process that cannot run without it. */
export const mandatory = <Field extends Setting>(field: Field): z.ZodNonOptional<Field> =>
  z.nonoptional(field).meta(field.meta() ?? {});

/** What else the settings of a process must be. It gets those that are valid. */
type SettingRule = (config: Readonly<Record<string, unknown>>) => readonly string[];

/**
 * The settings of a process. Reports every fault of the environment at once. A variable with our prefix that no process
 * knows is a fault too: a mistyped setting would otherwise silently have its default.
 */
export function readSettings<Fields extends SettingFields>(
  fields: Fields,
  env: Environment,
  rules: readonly SettingRule[] = [],
): SettingsOf<Fields> {
  const read = Object.entries(fields).map(([name, field]) => ({ name, ...field.safeParse(env[name]) }));
  const config = Object.fromEntries(read.filter(({ success }) => success).map(({ name, data }) => [name, data]));
  const invalid = read.filter(({ success }) => !success);
  const faults = [
    ...invalid.map(({ name, error }) => faultOf(name, error?.issues[0]?.message ?? "", fields, env)),
    ...faultsTogether(fields, config, new Set(invalid.map(({ name }) => name))),
    ...rules.flatMap((rule) => rule(config)),
    ...unknownIn(env, Object.keys(fields)),
  ];
  if (faults.length === 0) return config as SettingsOf<Fields>;
  throw new Error(`The settings in the environment are not valid:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
}

/** Values are not repeated: some are secrets. */
function faultOf(name: string, message: string, fields: SettingFields, env: Environment): string {
  const what = fields[name]?.description ?? "";
  return env[name] === undefined ? `${name} is not set. ${what}` : `${name} is not valid: ${message}. ${what}`;
}

function unknownIn(env: Environment, own: readonly string[]): string[] {
  // With its own, so that a setting works before the list of all is generated anew.
  const settings = [...new Set([...own, ...settingNames])];
  const known = new Set([...settings, ...Object.keys(clientVariables)]);
  return Object.keys(env)
    .filter((name) => name.startsWith("MOORAGE_") && !known.has(name))
    .map((name) => {
      const meant = likelyMeant(name, settings);
      return `${name} is no setting of Moorage.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
    });
}
