import { randomBytes } from "node:crypto";
import { ENGINE, PLAN, REGION, type World } from "../../packages/control-plane/src/testing/world.ts";
import { CARD } from "./limits.ts";
import { newInstance } from "./machines.ts";
import { newCompute } from "./money.ts";
import type { Target } from "./fixture.ts";
import { asCluster } from "./things.ts";

type Body = {
  /** A body that is accepted. */
  body: (target: Target, world: World, accountId: number) => object | Promise<object>;
  /** Names of planted fields that this operation accepts, by the interface. */
  taken?: readonly string[];
  /** Uses a new account each time, because the operation ends it. */
  afresh?: true;
};

let flag = true;
const other = (): boolean => {
  flag = !flag;
  return flag;
};
const name = (): string => `planted-${randomBytes(4).toString("hex")}`;

/** Written by hand, by the id of the operation. */
export const bodies: Readonly<Record<string, Body>> = {
  createMysqlDatabase: { body: () => ({ label: name(), region: REGION, type: PLAN, engine: ENGINE }) },
  updateMysqlDatabase: { body: () => ({ label: name(), updates: { hour_of_day: 3 } }) },
  promoteMysqlNode: {
    body: async ({ params }, world) => {
      await asCluster(world, Number(params["instanceId"]), "without_primary");
      return { accept_loss: true };
    },
  },
  createMysqlBackup: { body: () => ({ label: name() }) },
  uploadImage: { body: () => ({ label: name(), region: REGION }) },
  captureImage: {
    body: async (_target, world, accountId) => ({ disk_id: (await newInstance(world, accountId)).diskId }),
  },
  updateImage: { body: () => ({ label: name() }) },
  createUser: {
    body: () => ({ username: name(), email: "planted@test.example", restricted: true }),
    taken: ["restricted"],
  },
  updateUser: { body: () => ({ email: `${name()}@test.example` }), taken: ["restricted"] },
  updateUserGrants: { body: () => ({ global: { account_access: "read_only", add_images: true }, database: [] }) },
  createOAuthClient: { body: () => ({ label: name(), redirect_uri: "https://app.test/back", public: true }) },
  updateOAuthClient: { body: () => ({ label: name() }) },
  updateAccount: { body: () => ({ company: name() }) },
  updateAccountSettings: { body: () => ({ network_helper: other() }) },
  cancelAccount: { body: () => ({ comments: "Moved away." }), afresh: true },
  addPaymentMethod: { body: () => ({ type: "credit_card", is_default: true, data: CARD }) },
  updateCreditCard: { body: () => CARD },
  createPayment: { body: () => ({ usd: "7.50" }) },
  createServiceTransfer: {
    body: async (_target, world, accountId) => ({ entities: { computes: [await newCompute(world, accountId)] } }),
  },
  updateProfile: { body: () => ({ email: `${name()}@test.example` }) },
  updatePreferences: { body: () => ({ theme: { colour: name() } }) },
  createPersonalToken: { body: () => ({ label: name(), scopes: "events:read_only" }), taken: ["scopes"] },
  updatePersonalToken: { body: () => ({ label: name() }) },
  // Its body is a code, which the test makes.
  confirmTfa: { body: () => ({}) },
};
