import { mkdirSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inStack } from "../../tools/stack/paths.ts";
import { canary } from "./canaries.ts";
import { env } from "./stack-env.ts";

const screenshots = inStack("screenshots");
/** Ends what hangs. */
const PATIENCE_MS = 600_000;

/** Debian's Chromium with a temporary profile and without background connections. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: "/usr/bin/chromium",
    timeout: PATIENCE_MS,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** A new browser without cookies. A violation of the page's CSP, or an error in its script, fails the test. */
export async function newVisitor(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
  });
  return {
    context,
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}

export const authUrl = (path: string): string => new URL(path, env("MOORAGE_AUTH_URL")).href;

/** Records the session cookies for the secret scan. Returns their number. */
export async function noteSession(context: BrowserContext): Promise<number> {
  const cookies = (await context.cookies(authUrl("/"))).filter(({ value }) => value.length >= 20);
  for (const { value } of cookies) canary("session cookie", value);
  return cookies.length;
}

export async function fillSignIn(page: Page, { username, password }: { username: string; password: string }) {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

export async function fillCode(page: Page, code: string) {
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
}

const appearances = (["light", "dark"] as const).flatMap((colorScheme) =>
  [360, 1280].map((width) => ({ colorScheme, width })),
);

/** Accessibility violations of a page: light and dark, phone and desktop. */
export async function faultsOf(page: Page, name: string): Promise<string[]> {
  mkdirSync(screenshots, { recursive: true });
  const faults: string[] = [];
  for (const { colorScheme, width } of appearances) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 800 });
    await page.screenshot({ path: `${screenshots}/${name}-${colorScheme}-${width}.png`, fullPage: true });
    // Our pages have no frames: skipping the search for them halves the time.
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    const isWider = await page.evaluate<boolean>("document.documentElement.scrollWidth > window.innerWidth");
    if (isWider) found.push("it is wider than the screen");
    faults.push(...found.map((fault) => `${name}, ${colorScheme}, ${width} px: ${fault}`));
  }
  return faults;
}
