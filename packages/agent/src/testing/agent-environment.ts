import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import type { FakeGateway } from "./fake-gateway.ts";
import { enginesDir, type TestHost } from "./test-host.ts";

const engineFile = (file: string): string => readFileSync(join(enginesDir, "mysql", file), "utf8").trim();

/** The engine as built by `bin/setup`. */
export const builtEngine: NodeSpec["engine"] = {
  name: "mysql",
  version: engineFile("version"),
  image: engineFile("sha256"),
  prepared: engineFile("prepared.sha256"),
};

/** The token that a test's gateway accepts for an enrolment. */
export const enrolToken = "one-time";

/** Writes the files that the host's agent needs to connect to this gateway, and returns its settings. */
export function agentEnvironment(
  { dir }: TestHost,
  gateway: FakeGateway,
  operator: KeyObject = generateKeyPairSync("ed25519").publicKey,
): Record<string, string> {
  const write = (name: string, text: string | Buffer): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  return {
    MOORAGE_FLEET_URL: gateway.url,
    MOORAGE_FLEET_CA: write("ca.pem", gateway.ca),
    MOORAGE_ENROL_TOKEN_FILE: write("token", `${enrolToken}\n`),
    // Tests discard and re-clone more than a host does on its own.
    MOORAGE_DELETIONS_PER_WINDOW: "1000",
    MOORAGE_DELETIONS_PER_DAY: "1000",
    MOORAGE_OPERATOR_KEY: write("operator.pem", operator.export({ type: "spki", format: "pem" })),
  };
}
