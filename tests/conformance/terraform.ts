import { operator } from "../kit/operator.ts";
import { env } from "../kit/stack-env.ts";
import type { Checks } from "./checks.ts";
import { BIGGER_TYPE, type ClientThings, clientThings } from "./client-things.ts";
import { countingProxy } from "./counting-proxy.ts";
import { dataSources, images, usersAndTokens } from "./terraform-account.ts";
import { databaseLifecycle, legacyDatabaseLifecycle, plainDatabase, type Size } from "./terraform-databases.ts";
import { findProviders, installProvider, type Provider } from "./terraform-provider.ts";
import { newWorkspace, type Workspace } from "./terraform-workspace.ts";

const LARGER_TYPE = "m1-large";
const LIMITS = { databases: 8, nodes: 16, memory_mb: 64 * 1024, disk_mb: 1024 * 1024 };

const one = (): Size => ({ nodes: 1, type: env("MOORAGE_TYPE"), bigger: BIGGER_TYPE });
const three: Size = { nodes: 3, type: BIGGER_TYPE, bigger: LARGER_TYPE };

export type Form = "short" | "whole";
type Suite = { name: string; run: (checks: Checks) => Promise<void> };

/** Runs each available version of the published provider with the real Terraform. Without one: prints why. */
export async function withTerraform(form: Form): Promise<Suite[]> {
  const providers = await findProviders();
  if (typeof providers === "string") {
    console.log(`terraform: SKIPPED the published provider: ${providers}`);
    return [];
  }
  return providers.map((provider) => ({
    name: `terraform-provider-linode ${provider.version}`,
    run: (checks) => day(provider, form, checks),
  }));
}

async function day(provider: Provider, form: Form, checks: Checks): Promise<void> {
  const began = performance.now();
  const name = `tf${provider.version.replaceAll(".", "")}`;
  await using things = await clientThings(name);
  await operator(`/admin/accounts/${things.account.id}/limits`, LIMITS);
  const rc = await installProvider(provider, things.folder);
  const workspace = (of: string, url = env("MOORAGE_URL")): Promise<Workspace> =>
    newWorkspace({ folder: things.folder, name: of, rc, url, token: things.account.token }, checks);

  const isSecond = provider.version.startsWith("2.");
  await dataSources(await workspace("data"), things.label);
  await usersAndTokens(await workspace("account"), things.label);
  if (form === "whole" || !isSecond) {
    await images(await workspace("images"), things);
    await databaseLifecycle(await workspace("one-node"), `${things.label}-1`, one());
  }
  if (isSecond) await legacyDatabaseLifecycle(await workspace("older-one-node"), `${things.label}-o`, one());
  if (form === "whole") {
    await operator("/admin/plans", {
      id: LARGER_TYPE,
      label: "Large 4 GB",
      class: "standard",
      memory_mb: 4096,
      disk_mb: 40_960,
      vcpus: 2,
    });
    await databaseLifecycle(await workspace("three-nodes"), `${things.label}-3`, three);
    if (isSecond) await legacyDatabaseLifecycle(await workspace("older-three-nodes"), `${things.label}-p`, three);
  }
  const left = await things.account.owner.list();
  checks.note("no database is left", left.length === 0, left.map(({ label }) => label).join(", "));
  await wouldBeSeen(things, workspace, checks);

  const { passed, failed } = checks.tally;
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `terraform-provider-linode ${provider.version}: ${passed + failed} steps, ${failed} failed, ${seconds} s`,
  );
}

/** Removes from our answers what the provider dereferences: Terraform must report the crash. */
async function wouldBeSeen(
  things: ClientThings,
  workspace: (of: string, url: string) => Promise<Workspace>,
  checks: Checks,
): Promise<void> {
  await using proxy = await countingProxy([], (_, { status, body }) => ({
    status,
    body: body.replaceAll(/,?"engine_config":\{"mysql":\{\}\}/g, ""),
  }));
  const tf = await workspace("planted", proxy.url);
  const output = await tf.fails(plainDatabase(`${things.label}-x`));
  const crashed = /panic: .*nil pointer/.test(output);
  checks.note("planted: without engine_config the provider crashes", crashed, crashed ? "" : output.slice(-400));
}
