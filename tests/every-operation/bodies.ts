import { randomBytes } from "node:crypto";
import { ENGINE, PLAN, REGION } from "../../packages/control-plane/src/testing/world.ts";
import type { Target } from "./stage.ts";

type Body = {
  /** One that is accepted. */
  body: (target: Target) => object;
  /** Names of planted fields that this operation takes, by the interface. */
  taken?: readonly string[];
};

const name = (): string => `planted-${randomBytes(4).toString("hex")}`;

/** Written by hand, by the id of the operation. */
export const bodies: Readonly<Record<string, Body>> = {
  createMysqlDatabase: { body: () => ({ label: name(), region: REGION, type: PLAN, engine: ENGINE }) },
  updateMysqlDatabase: { body: () => ({ label: name(), updates: { hour_of_day: 3 } }) },
  createMysqlBackup: { body: () => ({ label: name() }) },
  createUser: {
    body: () => ({ username: name(), email: "planted@test.example", restricted: true }),
    taken: ["restricted"],
  },
  updateUser: { body: () => ({ email: `${name()}@test.example` }), taken: ["restricted"] },
  updateUserGrants: { body: () => ({ global: { account_access: "read_only", add_images: true }, database: [] }) },
  createOAuthClient: { body: () => ({ label: name(), redirect_uri: "https://app.test/back", public: true }) },
  updateOAuthClient: { body: () => ({ label: name() }) },
  updateProfile: { body: () => ({ email: `${name()}@test.example` }) },
  updatePreferences: { body: () => ({ theme: { colour: name() } }) },
  createPersonalToken: { body: () => ({ label: name(), scopes: "events:read_only" }), taken: ["scopes"] },
  updatePersonalToken: { body: () => ({ label: name() }) },
  // Its body is a code, which the test makes.
  confirmTfa: { body: () => ({}) },
};
