import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runStatement, clientA } from "../kit/client.ts";
import { env } from "../kit/stack-env.ts";
import { unique } from "../kit/unique.ts";
import { accountOf, type FuzzAccount } from "./fuzz-account.ts";
import { identityThings } from "./fuzz-identity.ts";
import { DISK_MB, diskFile, newInstance } from "./machine-things.ts";
import { newCompute, newInvoice } from "./money-things.ts";

/** An account for one client alone, and what its run needs that no client can create. */
export type ClientThings = AsyncDisposable & {
  account: FuzzAccount;
  otherToken: string;
  label: string;
  folder: string;
  imageFile: string;
  machine: number;
  disk: number;
  invoice: number;
  /** One to be given away, and one to be offered and withdrawn. */
  computes: readonly [number, number];
  appId: number;
  loginId: number;
};

/** A row that a restore to the snapshot after it brings back. */
export const KEPT_ROW =
  "CREATE DATABASE day; CREATE TABLE day.kept (id INT PRIMARY KEY); INSERT INTO day.kept VALUES (1)";

export const BIGGER_TYPE = "m1-medium";

export async function clientThings(name: string): Promise<ClientThings> {
  const label = unique(name);
  const folder = await mkdtemp(join(tmpdir(), "moorage-client-"));
  const made = await accountOf(label);
  const account: FuzzAccount = {
    ...made,
    async [Symbol.asyncDispose]() {
      // An account that was cancelled during the run cannot list its databases any more.
      for (const { id } of (await made.owner.list()) ?? []) await made.owner.deleteSurely(id);
    },
  };
  const { appId, loginId } = await identityThings(account);
  const { computeId: machine, diskId: disk } = await newInstance(account.id);
  return {
    account,
    label,
    folder,
    machine,
    disk,
    appId,
    loginId,
    otherToken: env("MOORAGE_OTHER_TOKEN"),
    imageFile: await diskFile(folder, "disk.img.gz"),
    invoice: await newInvoice(account.id),
    computes: [await newCompute(account.id), await newCompute(account.id)],
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
      await account[Symbol.asyncDispose]();
    },
  };
}

/** For programs in other languages. `MYSQL` is a command that runs on the tenant's machine. */
export const environmentOf = (things: ClientThings, url: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  /** Bypasses the proxy, for requests that do not come from the client. */
  MOORAGE_URL: env("MOORAGE_URL"),
  LINODE_URL: url,
  LINODE_API_VERSION: "v4",
  LINODE_TOKEN: things.account.token,
  OTHER_TOKEN: things.otherToken,
  REGION: env("MOORAGE_REGION"),
  TYPE: env("MOORAGE_TYPE"),
  BIGGER_TYPE,
  ENGINE: env("MOORAGE_ENGINE"),
  LABEL: things.label,
  FOLDER: things.folder,
  INVOICE: String(things.invoice),
  COMPUTE: String(things.computes[0]),
  OTHER_COMPUTE: String(things.computes[1]),
  IMAGE_FILE: things.imageFile,
  IMAGE_MB: String(DISK_MB),
  MACHINE: String(things.machine),
  MACHINE_DISK: String(things.disk),
  APP: String(things.appId),
  LOGIN: String(things.loginId),
  CLIENT_ADDRESS: env("MOORAGE_CLIENT_A_ADDR"),
  MYSQL: `ip netns exec ${env("MOORAGE_CLIENT_A")} ${env("MOORAGE_MYSQL")}`,
});

/** How a tenant reaches its database; the CA as it is served, in base64. */
export type Credentials = { host: string; port: number; username: string; password: string; ca: string };

/** One statement with the real client on the tenant's machine, which verifies the server. */
export async function tenantSql(folder: string, credentials: Credentials, statement: string): Promise<string> {
  const ca = join(folder, "ca.pem");
  await writeFile(ca, Buffer.from(credentials.ca, "base64"));
  return runStatement(
    clientA(),
    { ...credentials, ca, name: credentials.host, privateName: credentials.host },
    statement,
  );
}
