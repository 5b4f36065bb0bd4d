/** `moorage login` and `moorage logout` against the API and the authorization server, with a headless browser. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { texts } from "@moorage/cli/login/texts";
import { texts as profileTexts } from "@moorage/cli/profiles/texts";
import type { PersonalToken } from "@moorage/contract";
import { selfSigned } from "@moorage/testkit/certificates.ts";
import { freePort } from "@moorage/testkit/free-port.ts";
import type { Visitor } from "@moorage/testkit/visitor.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "./testing/auth-server.ts";
import { served } from "./testing/served.ts";
import { type TestTerminal, terminalWith } from "./testing/terminal.ts";
import { newWorld, type World } from "./testing/world.ts";

let world: World;
let auth: AuthServer;
let api: Awaited<ReturnType<typeof served>>;
beforeAll(async () => {
  const port = await freePort();
  world = await newWorld({ authUrl: `http://localhost:${port}` });
  auth = await newAuthServer(world, { port });
  api = await served(world);
});
afterAll(async () => {
  api[Symbol.dispose]();
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Customer = Awaited<ReturnType<World["customer"]>>;
async function newPerson(): Promise<Customer> {
  const customer = await world.customer();
  await auth.setPassword(customer);
  return customer;
}
/** The browser program that the command line starts: it records the address. */
function browserOf(terminal: TestTerminal) {
  const [program, file] = [join(terminal.home, "browser"), join(terminal.home, "opened")];
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > ${file}.new && mv ${file}.new ${file}\n`);
  chmodSync(program, 0o755);
  return {
    env: { BROWSER: program },
    opened: async (): Promise<URL> => {
      await expect.poll(() => existsSync(file)).toBe(true);
      return new URL(readFileSync(file, "utf8"));
    },
  };
}
async function goTo(visitor: Visitor, { pathname, search }: URL, person: Customer) {
  await visitor.get(pathname + search);
  return visitor.submit("/sign-in", { name: person.username, password: PASSWORD });
}
const tokensOf = async (person: Customer): Promise<PersonalToken[]> =>
  (await person.get<{ data: PersonalToken[] }>("/v4/profile/tokens")).body.data;
const isOfLogin = ({ label }: PersonalToken): boolean => label.startsWith("moorage login on ");

test("a person signs in with the browser, and logout revokes the token", async () => {
  const person = await newPerson();
  using terminal = terminalWith({});
  const browser = browserOf(terminal);
  const ended = terminal.type(`login --url ${api.url}`, "", browser.env);
  const visitor = auth.visitor();
  const consent = await goTo(visitor, await browser.opened(), person);
  expect(consent.html).toContain("Sign in the command line?");
  const { url: back } = await visitor.submit("/consent");
  expect(back.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  // A redirect with another state changes nothing.
  expect((await fetch(new URL("/callback?code=guessed&state=guessed", back))).status).toBe(400);
  expect(await (await fetch(back)).text()).toContain("The command line is signed in");

  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(`You are signed in as ${person.username} at ${api.url}`),
  });
  expect(stderr).toContain("/oauth/authorize?");
  expect((await terminal.type("me show")).stdout).toContain(person.username);
  expect((await tokensOf(person)).filter(isOfLogin)).toHaveLength(1);

  expect((await terminal.type("logout")).stdout).toContain("the token is revoked");
  expect((await tokensOf(person)).filter(isOfLogin)).toEqual([]);
  expect((await terminal.type("me show")).stderr).toContain(profileTexts.notSignedIn().text);
});

test("a refusal in the browser is reported in the terminal, and nothing is stored", async () => {
  const person = await newPerson();
  using terminal = terminalWith({});
  const browser = browserOf(terminal);
  const ended = terminal.type(`login --url ${api.url}`, "", browser.env);
  const visitor = auth.visitor();
  await goTo(visitor, await browser.opened(), person);
  const { url: back } = await visitor.submit("/refuse");
  expect((await fetch(back)).status).toBe(400);

  expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining(texts.refusedByPerson().text) });
  expect((await terminal.type("me show")).stderr).toContain("You are not signed in");
  expect((await tokensOf(person)).filter(isOfLogin)).toEqual([]);
});

test("without a display a person types a code elsewhere, and a second login replaces the first", async () => {
  const person = await newPerson();
  using terminal = terminalWith({});
  const signIn = async () => {
    const shown = Promise.withResolvers<string>();
    const ended = terminal.type(`login --url ${api.url}`, "", {}, (line) => {
      const userCode = /[B-Z]{4}-[B-Z]{4}/.exec(line)?.[0];
      if (userCode !== undefined) shown.resolve(userCode);
    });
    const visitor = auth.visitor();
    const page = await visitor.get("/device");
    expect(page.html).toContain("Type the code");
    await visitor.submit("/device", { user_code: await shown.promise });
    const consent = await visitor.submit("/sign-in", { name: person.username, password: PASSWORD });
    expect(consent.html).toContain(await shown.promise);
    expect((await visitor.submit("/consent")).html).toContain("The command line is signed in");
    return ended;
  };
  expect(await signIn()).toMatchObject({ code: 0 });
  const [first] = (await tokensOf(person)).filter(isOfLogin);
  expect(await signIn()).toMatchObject({ code: 0 });
  const after = (await tokensOf(person)).filter(isOfLogin);
  expect(after.map(({ id }) => id)).toEqual([expect.any(Number)]);
  expect(after[0]?.id).not.toBe(first?.id);
  expect((await terminal.type("me show")).stdout).toContain(person.username);
});

test("a token that logout cannot revoke is kept, unless it should only be forgotten", async () => {
  const person = await newPerson();
  using terminal = terminalWith({});
  const browser = browserOf(terminal);
  const ended = terminal.type(`login --url ${api.url}`, "", browser.env);
  const visitor = auth.visitor();
  await goTo(visitor, await browser.opened(), person);
  await fetch((await visitor.submit("/consent")).url);
  await ended;
  const file = join(terminal.home, ".config/moorage/profiles.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(auth.authUrl, "http://localhost:9"));

  const refused = await terminal.type("logout");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("you are still signed in") });
  expect(refused.stderr).toContain("moorage logout --local");
  expect((await terminal.type("me show")).code).toBe(0);
  expect((await terminal.type("logout --local")).stdout).toContain("stays valid");
});

test("logout forgets a pasted token without revoking it, and prints that", async () => {
  const { token } = await newPerson();
  using terminal = terminalWith({});
  await terminal.type(`login --token --url ${api.url}`, token);
  expect((await terminal.type("logout")).stdout).toContain("stays valid");
  expect((await world.as(token).get("/v4/profile")).status).toBe(200);
});

test("MOORAGE_CA is trusted for a login, and is not stored in the profile", async () => {
  const { token, username } = await newPerson();
  const { key, certificate } = await selfSigned("CN=localhost");
  using secured = await served(world, undefined, { key, cert: certificate });
  using terminal = terminalWith({});
  const ca = { MOORAGE_CA: join(terminal.home, "authority.pem") };
  writeFileSync(ca.MOORAGE_CA, certificate);
  const line = `login --token --url ${secured.url}`;

  const reason = "DEPTH_ZERO_SELF_SIGNED_CERT";
  const refusal = profileTexts.authorityUnknown({ server: new URL(secured.url).origin, reason }).text;
  for (const untrusted of [line, line.replace("--token", "--device")])
    expect(await terminal.type(untrusted, token)).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) });
  expect(await terminal.type(line, token, ca)).toMatchObject({ code: 0, stdout: expect.stringContaining(username) });
  expect(readFileSync(join(terminal.home, ".config/moorage/profiles.json"), "utf8")).not.toContain("authority.pem");
  expect(await terminal.type("me show", "", ca)).toMatchObject({ code: 0, stdout: expect.stringContaining(username) });
});

test("an address that is not this API gets another error than one that does not answer", async () => {
  using terminal = terminalWith({});
  const { origin } = new URL(auth.authUrl);
  expect((await terminal.type(`login --url ${auth.authUrl}`)).stderr).toContain(texts.issuerUnknown({ origin }).text);
  expect((await terminal.type("login --url http://localhost:9")).stderr).toContain("does not answer");
});
