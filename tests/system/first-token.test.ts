/** From the invitation mail to `SELECT 1`, in a browser and a shell. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { PersonalToken } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { texts as tenantTexts } from "../../packages/cli/src/tenant/texts.ts";
import { texts as authTexts } from "../../packages/control-plane/src/auth/texts.ts";
import { texts as pageTexts } from "../../packages/control-plane/src/sign-in/pages/texts.ts";
import { texts } from "../../packages/control-plane/src/sign-in/rules/texts.ts";
import { authUrl, faultsOf, fillSignIn, newVisitor, noteSession, openBrowser } from "../kit/browser.ts";
import { canary } from "../kit/canaries.ts";
import { mailTo, linkIn } from "../kit/mailbox.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { newPassword, newPerson, type Person } from "../kit/person.ts";
import { newShell, type Running, type Shell } from "../kit/shell.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";

let browser: Browser;
let owner: Person;
beforeAll(async () => {
  await allowDeletions(100);
  browser = await openBrowser();
  owner = await newPerson("owner");
});
afterAll(async () => {
  await browser.close();
  for (const { id } of await owner.api.list()) {
    await owner.api.deleteSurely(id);
    await owner.api.untilEvent(id, "database_delete", 240);
  }
});

const heading = (page: Page, name: string): Promise<void> => page.getByRole("heading", { name, level: 1 }).waitFor();
const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
const api = () => env("MOORAGE_URL");
const selectOne = (shell: Shell, label: string) =>
  shell.run(
    "db",
    "connect",
    label,
    "--mysql",
    `ip netns exec ${env("MOORAGE_CLIENT_A")} ${env("MOORAGE_MYSQL")}`,
    "--",
    "-N",
    "-e",
    "SELECT 1",
  );

/** Opens the mail, and chooses a password with its link. */
async function invite(page: Page) {
  const username = `nia-${randomBytes(4).toString("hex")}`;
  const email = `${username}@people.test`;
  const made = { username, email, restricted: false };
  expect((await owner.api.call("POST", "/v4/account/users", made)).status).toBe(200);
  const link = linkIn(await mailTo(email, "You were added to Moorage: choose a password", 30));
  canary("password link", new URL(link).pathname.split("/").at(-1) ?? "");
  const password = newPassword();
  await page.goto(link);
  await page.getByLabel("New password").fill(password);
  await page.getByLabel("The same again").fill(password);
  await press(page, "Save the password");
  await heading(page, pageTexts.passwordSavedTitle().text);
  return { username, password };
}

/** The token that the shell stores, for the secret scan, and to check it from outside. */
async function keptToken(shell: Shell): Promise<string> {
  const file = JSON.parse(await readFile(`${shell.home}/.config/moorage/profiles.json`, "utf8")) as {
    profiles: Record<string, { token: string }>;
  };
  return canary("personal token", Object.values(file.profiles)[0]?.token ?? "");
}

test("from the invitation mail to SELECT 1 with the browser; logout revokes the token", async () => {
  await using visitor = await newVisitor(browser);
  const { page } = visitor;
  using shell = newShell();
  const label = `first-${randomBytes(3).toString("hex")}`;

  const nia = await invite(page);
  expect(await page.getByRole("main").textContent()).toContain(`moorage login --url ${api()}`);
  expect(await faultsOf(page, "invited")).toEqual([]);
  expect((await shell.run()).stdout).toContain("Next: Sign in: moorage login");

  const opened = shell.browser();
  const login = shell.start(["login", "--url", api()], { env: opened.env });
  await page.goto(await opened.opened());
  await fillSignIn(page, nia);
  await heading(page, "Sign in the command line?");
  await noteSession(visitor.context);
  expect(await faultsOf(page, "command-line-consent")).toEqual([]);
  await press(page, "Sign it in");
  await heading(page, "The command line is signed in");
  const { code, stdout, stderr } = await login.ended;
  expect({ code, stdout, stderr }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`You are signed in as ${nia.username} at`),
  });
  const token = await keptToken(shell);

  expect((await shell.run()).stdout).toContain(`Next: ${tenantTexts.nextCreate().text}`);
  const created = await shell.run(
    "db",
    "create",
    "--label",
    label,
    "--region",
    env("MOORAGE_REGION"),
    "--type",
    env("MOORAGE_TYPE"),
    "--engine",
    env("MOORAGE_ENGINE"),
    "--allow-list",
    env("MOORAGE_CLIENT_A_ADDR"),
    "--wait",
  );
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^status +active$/m) });
  expect(await selectOne(shell, label)).toMatchObject({ code: 0, stdout: "1\n" });
  // Many at once: all of them can use the stored token.
  const many = await Promise.all(Array.from({ length: 4 }, () => shell.run("db", "list")));
  expect(many.map((each) => each.code)).toEqual([0, 0, 0, 0]);

  await page.goto(authUrl("/"));
  await heading(page, "Sign-in and security");
  expect(await page.getByRole("main").textContent()).toContain("by moorage login");
  expect(await faultsOf(page, "security-with-token")).toEqual([]);
  expect((await shell.run("logout")).stdout).toContain("the token is revoked");
  expect((await tenant(token).call("GET", "/v4/profile")).status).toBe(401);
  expect((await shell.run("db", "list")).stderr).toContain("moorage login --url");
  expect(visitor.complaints).toEqual([]);

  // Without a display: the code is entered elsewhere, here without scripts.
  await using phone = await newVisitor(browser, { javaScriptEnabled: false });
  const device = shell.start(["login", "--device", "--url", api()]);
  await phone.page.goto(authUrl("/device"));
  await phone.page.getByLabel("Code").fill(await codeIn(device));
  await press(phone.page, "Continue");
  await fillSignIn(phone.page, nia);
  await heading(phone.page, "Sign in the command line?");
  expect(await phone.page.getByRole("main").textContent()).toContain(await codeIn(device));
  await press(phone.page, "Sign it in");
  await heading(phone.page, pageTexts.deviceSignedInTitle().text);
  expect(await device.ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`You are signed in as ${nia.username} at`),
  });
  await keptToken(shell);
  expect(await selectOne(shell, label)).toMatchObject({ code: 0, stdout: "1\n" });
}, 3_600_000);

test("a token from the security page works until it is revoked there; every page is accessible", async () => {
  await using visitor = await newVisitor(browser);
  const { page } = visitor;
  using shell = newShell();
  const nia = await invite(page);
  await page.getByRole("link", { name: "Sign in" }).click();
  await fillSignIn(page, nia);
  await heading(page, "Sign-in and security");
  await page.getByRole("link", { name: "Create a token" }).click();
  await heading(page, "Create a token");
  expect(await faultsOf(page, "new-token")).toEqual([]);
  await page.getByLabel("Name").fill("Terraform");
  await page.getByLabel("Only what I choose below").check();
  await press(page, "Create the token");
  await page.getByText(texts.tokenAreasMissing().text).waitFor();
  expect(await faultsOf(page, "new-token-refused")).toEqual([]);
  await page.getByLabel("Databases, their backups and passwords").selectOption("View and change");
  await press(page, "Create the token");
  await heading(page, pageTexts.tokenCreatedTitle().text);
  expect(await faultsOf(page, "token-created")).toEqual([]);
  const token = canary("personal token", await page.getByLabel("Token", { exact: true }).inputValue());
  await page.getByRole("link", { name: "I have copied it" }).click();
  await heading(page, "Sign-in and security");

  const login = shell.start(["login", "--token", "--url", api()], { input: token });
  expect(await login.ended).toMatchObject({ code: 0, stdout: expect.stringContaining(nia.username) });
  expect((await shell.run("db", "list")).code).toBe(0);
  expect((await shell.run("me", "token", "list")).stderr).toContain("account:read_only");
  await page.getByRole("button", { name: /^Revoke Terraform/ }).click();
  await page.getByText(texts.tokenRevoked().text).waitFor();
  const refused = await until("the token is dead everywhere", 10, async () => {
    const reply = await tenant(token).call<PersonalToken>("GET", "/v4/profile");
    return reply.status === 401 && reply;
  });
  expect(refused.status).toBe(401);
  expect(visitor.complaints).toEqual([]);
});

test("the pages for the device code are accessible, and a wrong code is reported", async () => {
  await using visitor = await newVisitor(browser);
  const { page } = visitor;
  await page.goto(authUrl("/device"));
  expect(await faultsOf(page, "device")).toEqual([]);
  await page.getByLabel("Code").fill("bbbb-bbbb");
  await press(page, "Continue");
  await page.getByText(authTexts.deviceCodeUnknown().text).waitFor();
  expect(await faultsOf(page, "device-refused")).toEqual([]);
  expect(visitor.complaints).toEqual([]);
});

const codeIn = async (login: Running): Promise<string> =>
  canary(
    "code of a device",
    await until("the command line shows a code", 60, async () => /[B-Z]{4}-[B-Z]{4}/.exec(login.stderr())?.[0]),
  );
