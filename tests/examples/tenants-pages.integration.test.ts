/** The shell examples of docs/tenants, extracted from their pages and run in order. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { picture } from "@moorage/testkit/pictures.ts";
import { Secret, TOTP } from "otpauth";
import { expect, test } from "vitest";
import { authorize, startAuth } from "../../packages/control-plane/src/testing/auth.ts";
import { served } from "../../packages/control-plane/src/testing/served.ts";
import { newWorld } from "../../packages/control-plane/src/testing/world.ts";
import { blocksOf } from "../kit/fenced-blocks.ts";
import { shell, shellBlocks, type Variables } from "./shell.ts";

test("users-and-tokens.md: every request is accepted, in the order of the page", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const baker = await world.customer();
  const { id } = (await baker.create()).body;
  await using tenant = await shell({ MOORAGE_URL: api.url.replace(/\/$/, ""), MOORAGE_TOKEN: baker.token });

  // The world's clock stands still.
  const codeOf = (seed: string): string =>
    new TOTP({ secret: Secret.fromBase32(seed) }).generate({ timestamp: world.time.now.getTime() });
  let token = { id: 0, token: "" };
  let secret = "";
  let scratch: string[] = [];
  for (const { code } of shellBlocks("docs/tenants/users-and-tokens.md")) {
    const mine = code
      .replace('"id": 1025', `"id": ${id}`)
      .replace("tokens/1025", `tokens/${token.id}`)
      .replace("123456", () => codeOf(secret));
    const output = await tenant.paste(mine);
    if (code.includes("nightly report")) token = JSON.parse(output) as typeof token;
    if (code.includes("tfa-enable ")) ({ secret } = JSON.parse(output) as { secret: string });
    if (code.includes("tfa_code")) ({ scratch_codes: scratch } = JSON.parse(output) as { scratch_codes: string[] });
  }

  expect(scratch).toHaveLength(8);
  expect(token.token).toMatch(/^[0-9a-f]{64}$/);
  expect(await world.as(token.token).get("/v4/profile")).toMatchObject({ status: 401 });
  expect((await world.events()).map(({ action }) => action)).toEqual([
    "database_create",
    "user_create",
    "user_update",
    "user_delete",
    "token_create",
    "token_delete",
    "tfa_enabled",
  ]);
});

test("oauth-apps.md: an app is registered, authorized, gets tokens, refreshes them, and is revoked", async () => {
  await using world = await newWorld();
  await using auth = await startAuth(world);
  using api = await served(world);
  const baker = await world.customer();
  const urls = { MOORAGE_URL: api.url.replace(/\/$/, ""), AUTH_URL: auth.url };
  await using tenant = await shell({ ...urls, MOORAGE_TOKEN: baker.token });
  const blocks = shellBlocks("docs/tenants/oauth-apps.md");
  const under = (heading: string): string[] =>
    blocks.filter((block) => block.heading === heading).map(({ code }) => code);
  const paste = async <T>(code = ""): Promise<T> => JSON.parse(await tenant.paste(code)) as T;
  await writeFile(join(tenant.folder, "logo.png"), await picture().png().toBuffer());

  const [register, logo] = under("Register it");
  const client = await paste<{ id: string; secret: string }>(register);
  Object.assign(tenant.left, { CLIENT_ID: client.id, CLIENT_SECRET: client.secret });
  await paste(logo);

  const [send] = under("Send the person to sign in");
  const address = new URL((await tenant.paste(send ?? "")).trim());
  const { back } = await authorize(auth.browser(), baker, Object.fromEntries(address.searchParams));
  expect(back?.searchParams.get("state")).toBe(tenant.left["state"]);
  expect(back?.searchParams.get("iss")).toBe(auth.url);

  const [exchange, call] = under("Exchange the code");
  tenant.left["CODE"] = back?.searchParams.get("code") ?? "";
  const tokens = await paste<Variables>(exchange);
  const [shown] = blocksOf("docs/tenants/oauth-apps.md").filter(({ language }) => language === "json");
  const promised = JSON.parse(shown?.code ?? "{}") as Variables;
  expect(tokens).toEqual({
    ...promised,
    access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
    refresh_token: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  tenant.left["ACCESS_TOKEN"] = tokens["access_token"] ?? "";
  expect(await paste(call)).toMatchObject({ results: 0 });

  const [refresh] = under("Refresh");
  tenant.left["REFRESH_TOKEN"] = tokens["refresh_token"] ?? "";
  const fresh = await paste<Variables>(refresh);
  tenant.left["ACCESS_TOKEN"] = fresh["access_token"] ?? "";
  expect(await paste(call)).toMatchObject({ results: 0 });
  await expect(tenant.paste(refresh ?? "")).rejects.toMatchObject({ stdout: expect.stringContaining("invalid_grant") });
  await expect(tenant.paste(call ?? "")).rejects.toMatchObject({ stdout: expect.stringContaining("Invalid Token") });
});
