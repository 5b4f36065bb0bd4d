import { agentSettings } from "../../packages/agent/src/config.ts";
import { gatekeeperSettings } from "../../packages/agent/src/gatekeeper/config.ts";
import { processSettings } from "../../packages/control-plane/src/process-settings.ts";

type Field = { description?: string | undefined; def: object; safeParse: (value: unknown) => { success: boolean } };
type Fields = Readonly<Record<string, Field>>;

/** Where the packages put things: the operator need not choose. */
const places: Readonly<Record<string, string>> = {
  MOORAGE_AGENT_DIR: "/var/lib/moorage/agent",
  MOORAGE_DATABASE_CA_DIR: "/etc/moorage/database-ca",
  MOORAGE_ENGINES_DIR: "/var/lib/moorage/engines",
  MOORAGE_ENROL_TOKEN_FILE: "/etc/moorage/enrol-token",
  MOORAGE_FLEET_CA: "/etc/moorage/fleet-ca.pem",
  MOORAGE_FLEET_TLS_DIR: "/etc/moorage/fleet-tls",
  MOORAGE_KEYS_FILE: "/etc/moorage/keys.json",
  MOORAGE_OPERATOR_KEY: "/etc/moorage/operator.pub",
  MOORAGE_PODMAN_SOCKET: "/run/podman/podman.sock",
};
/** The units set these. */
const ofUnits = ["MOORAGE_WORKFLOW_BUNDLE"];

/** These share what at least two of them read. The others get to know nothing of it. */
const sharing = ["api", "auth", "worker", "fleet", "migrate"] as const;
const readers = (name: string): number => sharing.filter((each) => name in processSettings[each]).length;
const pick = (fields: Fields, isWanted: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => isWanted(name)));

const files: Record<string, Fields> = {
  "control-plane": pick(
    Object.assign({}, ...sharing.map((each) => processSettings[each])),
    (name) => readers(name) > 1,
  ),
  ...Object.fromEntries(sharing.map((each) => [each, pick(processSettings[each], (name) => readers(name) === 1)])),
  cards: processSettings.cards,
  "image-server": processSettings["image-server"],
  agent: { ...agentSettings, ...gatekeeperSettings },
};

function lineOf(name: string, field: Field): string {
  const place = places[name];
  if (place !== undefined) return `${name}=${place}`;
  const { defaultValue } = field.def as { defaultValue?: string | number | boolean };
  const isRequired = !field.safeParse(undefined).success;
  return isRequired ? `# Required.\n#${name}=` : `#${name}=${defaultValue ?? ""}`;
}

/** The template of a file in /etc/moorage, from the declarations of the settings. */
export function settingsFile(file: string): string {
  const entries = Object.entries(files[file] ?? {}).filter(([name]) => !ofUnits.includes(name));
  const readBy = file === "control-plane" ? sharing.join(", ") : file === "agent" ? "agent and gatekeeper" : file;
  const head = `# Settings of ${readBy}. Uncomment what you set.\n`;
  return head + entries.map(([name, field]) => `\n# ${field.description ?? ""}\n${lineOf(name, field)}\n`).join("");
}
