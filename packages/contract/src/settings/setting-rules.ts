import type { SettingFields } from "./read-settings.ts";

/** What a setting requires besides its own form, as metadata of the setting. */
type Rules = {
  /** With this setting, those are required too. */
  needs?: readonly string[];
  /** Without this setting, those are required. */
  insteadOf?: readonly string[];
  /** The setting that has at least this value. */
  atMost?: string;
};
type Config = Readonly<Record<string, unknown>>;

/**
 * Faults of settings that are valid each by itself. `faulty` are those that are not: they are no fault of another one.
 * Settings that the process does not have are not required.
 */
export function faultsTogether(fields: SettingFields, config: Config, faulty: ReadonlySet<string>): string[] {
  const isLacking = (name: string): boolean =>
    Object.hasOwn(fields, name) && config[name] === undefined && !faulty.has(name);
  const lacking = (name: string, why: string): string =>
    `${name} is not set. ${why}. ${fields[name]?.description ?? ""}`;
  const faults = Object.entries(fields).flatMap(([name, field]) => {
    const { needs = [], insteadOf = [], atMost } = (field.meta() ?? {}) as Rules;
    if (faulty.has(name)) return [];
    const value = config[name];
    if (value === undefined)
      return insteadOf.filter(isLacking).map((other) => lacking(other, `It is required without ${name}`));
    return [
      ...needs.filter(isLacking).map((other) => lacking(other, `${name} requires it`)),
      ...exceeds(name, value, atMost, config),
    ];
  });
  return [...new Set([...faults, ...sharedListeners(fields, config)])];
}

function exceeds(name: string, value: unknown, atMost: string | undefined, config: Config): string[] {
  const most = atMost === undefined ? undefined : config[atMost];
  if (typeof value !== "number" || typeof most !== "number" || value <= most) return [];
  return [`${name} is ${value}, and must be at most ${atMost}, which is ${most}.`];
}

type Listener = { host: string; port: number };
const isListener = (value: unknown): value is Listener =>
  typeof value === "object" && value !== null && "host" in value && "port" in value;

/** Only one of them could be opened. */
function sharedListeners(fields: SettingFields, config: Config): string[] {
  const listeners = Object.keys(fields).flatMap((name) => {
    const value = config[name];
    return isListener(value) ? [{ name, ...value }] : [];
  });
  return listeners.flatMap(({ name, host, port }, at) => {
    const other = listeners.slice(0, at).find((each) => each.port === port && each.host === host);
    return other === undefined
      ? []
      : [`${name} and ${other.name} are both ${host}:${port}. Choose another port for one.`];
  });
}
