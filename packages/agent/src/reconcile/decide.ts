import type { NodeSpec } from "@moorage/contract/agent";
import type { Facts } from "./gather.ts";

export type Decision =
  | { kind: "nothing" }
  | { kind: "provision"; because: string[] }
  /** The server is as desired, but its place in the group is not. */
  | { kind: "group" }
  /** The node serves, but its firewall differs from the allow list. */
  | { kind: "firewall" }
  /** The node serves without the baseline of this release. */
  | { kind: "baseline" }
  /** The node serves, and its certificate expires soon. */
  | { kind: "renew" }
  /** The node serves, and its earlier timelines are no longer kept. */
  | { kind: "discard" }
  /** The node should be powered off and still runs. */
  | { kind: "power-off" }
  | { kind: "rest" }
  | { kind: "bury"; guarded: boolean };

/** Compares desired and observed state and returns the action: pure, so that the whole table can be tested. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a decision table, one line for each case.
export function decide(spec: Pick<NodeSpec, "tombstone" | "credentials" | "power">, facts: Facts): Decision {
  // A node that has neither volume nor container costs nobody anything: its removal needs no permission.
  if (spec.tombstone) return { kind: "bury", guarded: facts.image || facts.container !== "absent" };
  // Everything else can be repaired when the node is powered on again.
  if (spec.power === "off") return { kind: facts.container === "running" || !facts.firewall ? "power-off" : "rest" };
  const because: string[] = [];
  if (facts.otherVolume) because.push("the volume of another timeline is mounted");
  else if (!facts.volume) because.push("the volume is not mounted");
  else if (!facts.data) because.push("there is no data directory");
  if (!facts.grown) because.push("the volume is smaller than the plan's");
  if (!facts.temporary) because.push("there is no place for temporary files");
  if (facts.keyring === "absent") because.push("the encryption keys are not on the disk");
  if (facts.keyring === "unsent") because.push("the encryption keys have not been sent to the gateway");
  if (!facts.network) because.push("there is no network");
  if (facts.container === "absent") because.push("there is no container");
  else if (!facts.current) because.push("the container differs from the spec");
  else if (facts.container === "stopped") because.push("the container is not running");
  if (facts.credentials < spec.credentials.version) because.push("the password is not set");
  if (facts.certificate === "absent") because.push("there is no certificate");
  if (facts.certificate === "outdated") because.push("the certificate differs from the spec");
  if (facts.certificate === "unused") because.push("the certificate is not in use");
  if (because.length === 0 && !facts.takesPart) return { kind: "group" };
  if (because.length === 0 && !facts.firewall) return { kind: "firewall" };
  if (because.length === 0 && !facts.baseline) return { kind: "baseline" };
  if (because.length === 0 && facts.certificate === "ending") return { kind: "renew" };
  // Only once the desired timeline serves: until then the other timelines hold the only data.
  if (because.length === 0 && facts.discarded) return { kind: "discard" };
  return because.length === 0 ? { kind: "nothing" } : { kind: "provision", because };
}
