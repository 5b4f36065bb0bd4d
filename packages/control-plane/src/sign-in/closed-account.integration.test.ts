import type { Visitor } from "@moorage/testkit/visitor.ts";
import { expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createPasswordLinks } from "./choose-password.ts";

type Person = { accountId: number; userId: number };

const close = (world: World, { accountId }: Person): Promise<unknown> =>
  world.db.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", accountId).execute();
async function signIn(visitor: Visitor, name: string, password = PASSWORD) {
  await visitor.get("/security");
  return visitor.submit("/sign-in", { name, password });
}
const newPerson = async (world: World, auth: AuthServer) => {
  const person = await world.customer();
  await auth.setPassword(person);
  return person;
};
/** Removes what differs between pages and names. */
const plain = (html: string, name: string): string =>
  html
    .replaceAll(/\/interaction\/[\w-]+/g, "/interaction/…")
    .replaceAll(/name="form_token" value="[^"]*"/g, "")
    .replaceAll(name, "…");

test("the right password of a closed account is answered like an unknown name", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const alice = await newPerson(world, auth);
  await close(world, alice);

  const [closed, nobody] = [await signIn(auth.visitor(), alice.username), await signIn(auth.visitor(), "nobody-here")];

  expect(closed.status).toBe(400);
  expect(plain(closed.html, alice.username)).toBe(plain(nobody.html, "nobody-here"));
  const logins = await world.db.selectFrom("logins").select(["username", "status"]).execute();
  expect(logins).toEqual([
    { username: null, status: "failed" },
    { username: null, status: "failed" },
  ]);
});

test("a person signed in when the account closed has to sign in again, and changes nothing", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const alice = await newPerson(world, auth);
  const visitor = auth.visitor();
  expect((await signIn(visitor, alice.username)).url.pathname).toBe("/security");
  const before = await world.db.selectFrom("users").selectAll().where("id", "=", alice.userId).execute();
  await close(world, alice);

  const sent = { password: "seven gulls over the pier", again: "seven gulls over the pier" };
  expect((await visitor.submit("/security/password", sent)).url.pathname).toMatch(/^\/interaction\//);

  expect((await visitor.get("/security")).url.pathname).toMatch(/^\/interaction\//);
  expect(await world.db.selectFrom("users").selectAll().where("id", "=", alice.userId).execute()).toEqual(before);
});

test("a password link of a closed account is invalid", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const alice = await newPerson(world, auth);
  const make = createPasswordLinks({ clock: world.clock, authUrl: auth.authUrl });
  const link = new URL(await world.db.transaction().execute((tx) => make(tx, alice, 1))).pathname;
  const [early, late] = [auth.visitor(), auth.visitor()];
  await early.get(link);
  await close(world, alice);

  const sent = { password: "seven gulls over the pier", again: "seven gulls over the pier" };
  const dead = await late.get(link);
  expect(dead.html).not.toContain(alice.username);
  expect((await early.submit("/password", sent)).html).toBe(dead.html);
});
