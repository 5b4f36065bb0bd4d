/** How people sign in with a real browser, and whether each page is accessible. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Login } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { texts as pageTexts } from "../../packages/control-plane/src/sign-in/pages/texts.ts";
import { texts } from "../../packages/control-plane/src/sign-in/rules/texts.ts";
import { start, stop, waitHealthy } from "../../tools/stack/control.ts";
import { logFile } from "../../tools/stack/supervisor.ts";
import { authUrl, faultsOf, fillCode, fillSignIn, newVisitor, noteSession, openBrowser } from "../kit/browser.ts";
import { canary } from "../kit/canaries.ts";
import { mailTo, linkIn } from "../kit/mailbox.ts";
import { addAuthenticator, authenticatorOf, newPassword, newPerson, type Person } from "../kit/person.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const heading = (page: Page): Promise<string | null> => page.getByRole("heading", { level: 1 }).textContent();
const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
const isAtHome = (page: Page): Promise<void> => page.getByRole("heading", { name: "Sign-in and security" }).waitFor();

test("two-factor sign-in is enabled and a scratch code signs in; every page is accessible", async () => {
  const alice = await newPerson("alice");
  await using visitor = await newVisitor(browser);
  const { page } = visitor;

  await page.goto(authUrl("/security"));
  expect(await faultsOf(page, "sign-in")).toEqual([]);
  await fillSignIn(page, { ...alice, password: "not the right one" });
  await page.getByRole("alert").waitFor();
  expect(await faultsOf(page, "sign-in-refused")).toEqual([]);
  await fillSignIn(page, alice);
  await isAtHome(page);
  expect(await noteSession(visitor.context)).toBeGreaterThan(0);
  expect(await faultsOf(page, "security")).toEqual([]);

  await press(page, "Turn it on");
  await page.getByLabel("Code").waitFor();
  // The image is displayed, not only its alternative text.
  const picture = page.locator("img.qr");
  await expect
    .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
    .toBeGreaterThan(0);
  expect(await faultsOf(page, "two-factor")).toEqual([]);
  const seed = (await page.getByText("Or type this secret").getByRole("code").textContent()) ?? "";
  const { nextCode } = authenticatorOf(seed.replaceAll(" ", ""));
  await page.getByLabel("Code").fill(await nextCode());
  await press(page, "Turn it on");
  await page.getByRole("heading", { name: pageTexts.scratchCodesTitle().text }).waitFor();
  const scratchCodes = await page.getByRole("listitem").allTextContents();
  for (const code of scratchCodes) canary("scratch code", code);
  expect(await faultsOf(page, "scratch-codes")).toEqual([]);
  await page.getByRole("link", { name: "I have kept them" }).click();
  await isAtHome(page);
  expect(await faultsOf(page, "security-with-two-factor")).toEqual([]);
  await mailTo(alice.email, "Two-factor sign-in is on");

  await page.goto(authUrl("/logout"));
  expect(await faultsOf(page, "sign-out")).toEqual([]);
  await press(page, "Sign out");
  await page.getByRole("heading", { name: pageTexts.signedOutTitle().text }).waitFor();
  expect(await faultsOf(page, "signed-out")).toEqual([]);

  await page.goto(authUrl("/security"));
  await fillSignIn(page, alice);
  await page.getByLabel("Code").waitFor();
  await fillCode(page, "123 456");
  await page.getByLabel("Code").and(page.locator("[aria-invalid]")).waitFor();
  expect(await page.getByLabel("Code").getAttribute("aria-invalid")).toBe("true");
  expect(await faultsOf(page, "second-step-refused")).toEqual([]);
  await fillCode(page, scratchCodes[0] ?? "");
  await isAtHome(page);
  expect(await page.getByRole("main").textContent()).toContain("Scratch codes left: 7");
  expect(visitor.complaints).toEqual([]);

  const { body } = await alice.api.call<{ data: Login[] }>("GET", "/v4/profile/logins");
  expect(body.data.map(({ status }) => status)).toEqual(["failed", "successful", "failed", "successful"]);
  expect(new Set(body.data.map(({ ip, restricted }) => `${ip} ${restricted}`))).toEqual(new Set(["127.0.0.1 false"]));
});

test("a passkey is added on a device and signs in without a name, a password or a code", async () => {
  const alice = await newPerson("alice");
  await using visitor = await newVisitor(browser);
  const { page, context } = visitor;
  const devices = await context.newCDPSession(page);
  await devices.send("WebAuthn.enable");
  await devices.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.goto(authUrl("/security"));
  await fillSignIn(page, alice);
  await isAtHome(page);

  await page.getByLabel("Name of this device").fill("My <b>laptop</b>");
  await press(page, "Add a passkey");
  await page.getByText("is added").waitFor();
  const passkeys = page.getByRole("region", { name: "Passkeys" }).getByRole("listitem");
  expect(await passkeys.textContent()).toContain("My <b>laptop</b>");
  expect(await faultsOf(page, "security-with-passkey")).toEqual([]);
  await mailTo(alice.email, "A passkey was added");

  await addAuthenticator(alice);
  await context.clearCookies();
  await page.goto(authUrl("/security"));
  await press(page, "Use a passkey");
  await isAtHome(page);
  expect(await page.getByRole("main").textContent()).toContain(alice.username);

  await press(page, "Remove My <b>laptop</b>");
  await page.getByText(texts.passkeyRemoved().text).waitFor();
  await context.clearCookies();
  await page.goto(authUrl("/security"));
  await press(page, "Use a passkey");
  await page.getByRole("alert").waitFor();
  expect(await page.getByRole("alert").textContent()).toBe(texts.passkeyNotAccepted().text);
  expect(visitor.complaints).toEqual([]);
});

test("a forgotten password is replaced with a mailed link, which works once and ends every session", async () => {
  const alice = await newPerson("alice");
  await using before = await newVisitor(browser);
  await signIn(before.page, alice);
  await using visitor = await newVisitor(browser);
  const { page } = visitor;

  await page.goto(authUrl("/forgot"));
  expect(await faultsOf(page, "forgot")).toEqual([]);
  const link = await requestLink(page, alice);
  expect(await faultsOf(page, "forgot-sent")).toEqual([]);
  await page.goto(link);
  expect(page.url()).toBe(authUrl("/password"));
  expect(await faultsOf(page, "choose-password")).toEqual([]);
  await choose(page, "short", "short");
  expect(await heading(page)).toBe("Choose a password");
  const password = newPassword();
  await choose(page, password, password);
  await page.getByRole("heading", { name: pageTexts.passwordSavedTitle().text }).waitFor();
  expect(await faultsOf(page, "password-saved")).toEqual([]);
  await mailTo(alice.email, "Your Moorage password was changed");

  await before.page.goto(authUrl("/security"));
  expect(await heading(before.page)).toBe("Sign in");
  await fillSignIn(before.page, alice);
  await before.page.getByRole("alert").waitFor();
  await fillSignIn(before.page, { ...alice, password });
  await isAtHome(before.page);

  await page.goto(link);
  expect(await heading(page)).toBe(pageTexts.linkInvalidTitle().text);
  expect(await faultsOf(page, "dead-link")).toEqual([]);
  expect(visitor.complaints).toEqual([]);
});

test("without scripts a person can reset a password, sign in with a code and change the password", async () => {
  const alice = await newPerson("alice");
  const { nextCode } = await addAuthenticator(alice);
  await using visitor = await newVisitor(browser, { javaScriptEnabled: false });
  const { page } = visitor;

  await page.goto(await requestLink(page, alice));
  const password = newPassword();
  await choose(page, password, password);
  await page.getByRole("link", { name: "Sign in" }).click();
  expect(await page.getByRole("button", { name: "Use a passkey" }).isVisible()).toBe(false);
  await fillSignIn(page, { ...alice, password });
  await fillCode(page, await nextCode());
  await isAtHome(page);
  const another = newPassword();
  await page.getByLabel("New password").fill(another);
  await page.getByLabel("The same again").fill(another);
  await press(page, "Change the password");
  await page.getByText(texts.passwordChanged().text).waitFor();
  await press(page, "Sign out everywhere");
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  expect(await heading(page)).toBe("You are signed out");
  await page.goto(authUrl("/security"));
  expect(await heading(page)).toBe("Sign in");
});

test("after too many attempts the page shows when to try again, and a missing page is a 404 page", async () => {
  const alice = await newPerson("alice");
  await using visitor = await newVisitor(browser);
  const { page } = visitor;
  await page.goto(authUrl("/security"));
  // The budget refills with time: on a slow machine it allows more than its five attempts.
  let attempts = 0;
  while ((await heading(page)) !== "Too many attempts") {
    // The page of the previous attempt has an alert too.
    const password = `not the right one ${attempts++}`;
    await Promise.all([page.waitForEvent("load"), fillSignIn(page, { ...alice, password })]);
    await page.getByRole("alert").waitFor();
  }

  expect(attempts).toBeGreaterThan(5);
  expect(await page.getByRole("alert").textContent()).toMatch(/Try again in \d+ minutes|Try again in a minute/);
  expect(await faultsOf(page, "too-many-attempts")).toEqual([]);
  expect((await page.goto(authUrl("/nowhere")))?.status()).toBe(404);
  expect(await faultsOf(page, "not-found")).toEqual([]);
  expect((await page.goto(authUrl(`/interaction/${"a".repeat(21)}`)))?.status()).toBe(400);
  expect(await faultsOf(page, "expired")).toEqual([]);
});

test("a page can be neither framed nor sniffed, and names no script or style but its own", async () => {
  const reply = await fetch(authUrl("/forgot"));
  const policy = reply.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe-|\*/);
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
});

test("while `auth` is down, people get an error page, and the front's log does not contain their link", async () => {
  const secret = canary("password link", randomBytes(32).toString("hex"));
  await stop(["auth"]);
  try {
    const reply = await fetch(authUrl(`/password/${secret}?code=${secret}`));
    expect(reply.status).toBe(503);
    expect(reply.headers.get("content-type")).toBe("text/html");
  } finally {
    await start(["auth"]);
    await waitHealthy("auth");
  }

  const log = await until("the front has logged it", 10, async () => {
    const text = await readFile(logFile("front"), "utf8");
    return /auth\/<NOSRV>|auth\/auth .* 503 /.test(text) && text;
  });
  expect(log).not.toContain(secret);
  expect(log).not.toContain("/password/");
});

async function signIn(page: Page, person: Person): Promise<void> {
  await page.goto(authUrl("/security"));
  await fillSignIn(page, person);
  await isAtHome(page);
}

async function requestLink(page: Page, { username, email }: Person): Promise<string> {
  await page.goto(authUrl("/forgot"));
  await page.getByLabel("User name").fill(username.toUpperCase());
  await press(page, "Send the link");
  await page.getByRole("heading", { name: pageTexts.forgotDoneTitle().text }).waitFor();
  const link = linkIn(await mailTo(email, "Choose a new Moorage password"));
  canary("password link", new URL(link).pathname.split("/").at(-1) ?? "");
  return link;
}

async function choose(page: Page, password: string, again: string): Promise<void> {
  await page.getByLabel("New password").fill(password);
  await page.getByLabel("The same again").fill(again);
  await press(page, "Save the password");
}
