import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOL, type Recipe, type RecipeRequest } from "@moorage/contract/agent";
import { GatewayAway } from "../base/try-again.ts";
import type { Gateway } from "./gateway.ts";

/** How long a reachable gateway may take to answer. */
const answerWithinMs = 2000;
const connectedSoonMs = 50;

/** The calls of an enrolled host, whichever connection is used. They throw `GatewayAway` until there is one. */
export type GatewayPort = Omit<Gateway, "enrol" | "close">;

/** The connection to the gateway: none at first, and a new one for each new certificate. */
export function createGatewayLink() {
  let gateway: Gateway | undefined;
  const connected = (): Gateway => {
    if (gateway === undefined) throw new GatewayAway("This host has not reached the fleet gateway yet.");
    return gateway;
  };
  const port: GatewayPort = {
    renew: (...message) => connected().renew(...message),
    desired: (...message) => connected().desired(...message),
    observed: (...message) => connected().observed(...message),
    certificate: (...message) => connected().certificate(...message),
    keyring: (...message) => connected().keyring(...message),
    recipe: (...message) => connected().recipe(...message),
    verified: (...message) => connected().verified(...message),
    samples: (...message) => connected().samples(...message),
    uploads: (...message) => connected().uploads(...message),
    imageUploads: (...message) => connected().imageUploads(...message),
    archived: (...message) => connected().archived(...message),
    secrets: (...message) => connected().secrets(...message),
  };
  return {
    port,
    async use(next: Gateway): Promise<void> {
      const before = gateway;
      gateway = next;
      // Requests in flight on the old connection fail and are repeated on the new one.
      await before?.close();
    },
    /** Whether the gateway can be reached now. */
    async answers(): Promise<boolean> {
      const timeout = AbortSignal.timeout(answerWithinMs);
      // An agent that has just started is not connected yet; that does not make the gateway unreachable.
      while (gateway === undefined && !timeout.aborted) await sleep(connectedSoonMs);
      return Promise.try(() => port.samples({ protocol: PROTOCOL, nodes: [] }, timeout)).then(
        () => true,
        () => false,
      );
    },
    close: async (): Promise<void> => gateway?.close(),
  };
}

/** What the steps of a node request from the gateway. Secrets are requested when they are used, and never stored. */
export const nodeRequests = (gateway: GatewayPort) => ({
  async adminPassword(node: string): Promise<string> {
    return (await gateway.secrets({ protocol: PROTOCOL, node })).admin_password;
  },
  async groupPassword(node: string): Promise<string> {
    const { group_password } = await gateway.secrets({ protocol: PROTOCOL, node });
    if (group_password === undefined) throw new Error("The gateway sent no password of the members' account.");
    return group_password;
  },
  async keyringOf(node: string): Promise<Buffer | undefined> {
    const { keyring } = await gateway.secrets({ protocol: PROTOCOL, node });
    return keyring === undefined ? undefined : Buffer.from(keyring, "base64");
  },
  async sendKeyring(node: string, keyring: Buffer): Promise<void> {
    await gateway.keyring({ protocol: PROTOCOL, node, keyring: keyring.toString("base64") });
  },
  certificateFor: (node: string, csr: string) => gateway.certificate({ protocol: PROTOCOL, node, csr }),
  async recipeFor(node: string, purpose: RecipeRequest["purpose"]): Promise<Recipe> {
    return (await gateway.recipe({ protocol: PROTOCOL, node, purpose })).recipe;
  },
  uploads: gateway.uploads,
});
