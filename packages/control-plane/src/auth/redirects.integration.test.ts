import { redirects } from "@moorage/testkit/redirects.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Auth, authorize, authorizePath, startAuth } from "../testing/auth.ts";
import { newWorld, type World } from "../testing/world.ts";

let world: World;
let auth: Auth;
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test.each(redirects)("for a registered address that is $kind only itself is accepted", async (each) => {
  const person = await world.customer();
  const app = await auth.newApp(person, { redirect_uri: each.registered });
  const query = { client_id: app.id, response_type: "code", scope: "images:read_only", state: "s" };
  // An empty one counts as missing.
  const others = each.others.filter((other) => other !== "");
  expect(others.length).toBeGreaterThanOrEqual(38);

  const accepted: string[] = [];
  // Errors are not sent there either.
  for (const given of others)
    for (const response_type of ["code", "token"]) {
      const reply = await auth.browser().get(authorizePath({ ...query, redirect_uri: given, response_type }));
      if (reply.status !== 400 || reply.headers.has("location")) accepted.push(given);
    }
  expect(accepted).toEqual([]);
  for (const given of [...each.same, undefined]) {
    const { back } = await authorize(auth.browser(), person, { ...query, redirect_uri: given });
    expect(back?.href.split("?code=")[0]).toBe(new URL(given ?? each.registered).href);
  }
});

test("only a client that the operator trusts may add a query", async () => {
  const person = await world.customer();
  const app = await auth.newApp(person);
  const query = { client_id: app.id, response_type: "code", scope: "images:read_only", state: "s" };
  const longer = { ...query, redirect_uri: `${app.redirectUri}?returnTo=%2Fa` };
  expect((await auth.browser().get(authorizePath(longer))).status).toBe(400);
  await world.operator.post(`/admin/oauth-clients/${app.id}/trust`, { may_add_query: true });
  const { back } = await authorize(auth.browser(), person, longer);
  expect(back?.searchParams.get("returnTo")).toBe("/a");
  expect(back?.searchParams.get("code")).toMatch(/^[0-9a-f]{64}$/);
});
