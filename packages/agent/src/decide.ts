import type { NodeSpec } from "@moorage/contract/agent";
import type { Facts } from "./gather.ts";

export type Decision =
  | { kind: "nothing" }
  | { kind: "provision"; because: string[] }
  /** Its server is as it should be, and not in its group as it should be. */
  | { kind: "group" }
  /** It serves, but not those that it should, or others too. */
  | { kind: "firewall" }
  /** It serves, without what this release of ours brings to every server. */
  | { kind: "baseline" }
  /** It serves, and its certificate ends soon. */
  | { kind: "renew" }
  /** It serves, and there is no way back to its earlier timelines any more. */
  | { kind: "discard" }
  /** It is to rest, and does not yet. */
  | { kind: "power-off" }
  | { kind: "rest" }
  | { kind: "bury"; guarded: boolean };

/** From what is wanted and what is there to what to do: pure, so that the whole table can be tested. */
export function decide(spec: Pick<NodeSpec, "tombstone" | "credentials" | "power">, facts: Facts): Decision {
  // A node of which there is nothing costs nobody anything: its end needs nobody's permission.
  if (spec.tombstone) return { kind: "bury", guarded: facts.image || facts.container !== "absent" };
  // What else of it is not as it should be can wait until it is wanted again.
  if (spec.power === "off") return { kind: facts.container === "running" || !facts.firewall ? "power-off" : "rest" };
  const because: string[] = [];
  if (facts.otherVolume) because.push("the volume of another timeline is mounted");
  else if (!facts.volume) because.push("the volume is not mounted");
  else if (!facts.data) because.push("there is no data directory");
  if (!facts.grown) because.push("the volume is smaller than the plan's");
  if (!facts.temporary) because.push("there is no place for temporary files");
  if (facts.keyring === "absent") because.push("its encryption keys are not on the disk");
  if (facts.keyring === "unsent") because.push("its encryption keys have not been told");
  if (!facts.network) because.push("there is no network");
  if (facts.container === "absent") because.push("there is no container");
  else if (!facts.current) because.push("the container is not the wanted one");
  else if (facts.container === "stopped") because.push("the container is not running");
  if (facts.credentials < spec.credentials.version) because.push("the password is not set");
  if (facts.certificate === "absent") because.push("there is no certificate");
  if (facts.certificate === "outdated") because.push("the certificate is not the wanted one");
  if (facts.certificate === "unused") because.push("the certificate is not in use");
  if (because.length === 0 && !facts.takesPart) return { kind: "group" };
  if (because.length === 0 && !facts.firewall) return { kind: "firewall" };
  if (because.length === 0 && !facts.baseline) return { kind: "baseline" };
  if (because.length === 0 && facts.certificate === "ending") return { kind: "renew" };
  // Only once the wanted timeline serves: until then the others are all that there is.
  if (because.length === 0 && facts.discarded) return { kind: "discard" };
  return because.length === 0 ? { kind: "nothing" } : { kind: "provision", because };
}
