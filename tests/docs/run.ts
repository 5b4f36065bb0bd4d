/**
 * The documentation site as its readers get it: built, served, in a browser.
 *   pnpm test:docs           every page on a phone and on a desktop, every link, every question
 *   pnpm test:docs --ci      links and questions
 */
import { mkdirSync } from "node:fs";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { sections, sitePath } from "../../docs/.vitepress/sections.ts";
import { buildSite, site } from "../../tools/docs-site/build.ts";
import { serveSite } from "../../tools/docs-site/server.ts";
import { printSlowest } from "../../tools/slowest.ts";
import { newChecks } from "../conformance/checks.ts";
import { newVisitor, openBrowser } from "../kit/browser.ts";
import { brokenLinks } from "./links.ts";
import { questions } from "./questions.ts";

const { values } = parseArgs({ options: { ci: { type: "boolean", default: false } } });
const screenshots = join(site, "../screenshots");
const HITS = 3;

const { check, note, tally, times } = newChecks();
await buildSite();
const server = serveSite(0);
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const browser = await openBrowser();
try {
  const { checked, broken } = brokenLinks(site);
  note(`${checked} links`, checked > 0 && broken.length === 0, broken.join(", "));
  await answerQuestions(browser);
  if (!values.ci) for (const width of [360, 1280]) await readPages(browser, width);
} finally {
  await browser.close();
  server.close();
}
printSlowest("docs", times);
console.log(`docs: ${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed === 0 ? 0 : 1;

/** A visitor whose page reports requests to other servers as errors: readers may have no network but this one. */
async function newReader(opened: Browser, width: number) {
  const visitor = await newVisitor(opened, { viewport: { width, height: 800 } });
  await visitor.context.route(
    (asked) => asked.origin !== url,
    async (route) => {
      visitor.complaints.push(`it requests ${route.request().url()}`);
      await route.abort();
    },
  );
  return visitor;
}

async function answerQuestions(opened: Browser): Promise<void> {
  await using reader = await newReader(opened, 1280);
  const { page } = reader;
  await page.goto(url);
  await page.locator("button.DocSearch, .VPNavBarSearch button").first().click();
  for (const [question, answer] of Object.entries(questions))
    await check(`search: ${question}`, async () => {
      const hits = await hitsOf(page, question);
      if (!hits.slice(0, HITS).some((hit) => hit.split("#")[0] === sitePath(answer)))
        throw new Error(`not ${answer} but ${hits.slice(0, 6).join(", ")}`);
    });
}

/** The results of the question before are gone before it is typed: those that appear are its own. */
async function hitsOf(page: Page, question: string): Promise<string[]> {
  const input = page.locator("#localsearch-input");
  const results = page.locator("a.result");
  await input.fill("");
  await results.first().waitFor({ state: "detached" });
  await input.fill(question);
  await page.locator("a.result, .no-results").first().waitFor();
  return page.evaluate<string[]>("[...document.querySelectorAll('a.result')].map((each) => each.getAttribute('href'))");
}

async function readPages(opened: Browser, width: number): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  await using reader = await newReader(opened, width);
  const { page, complaints } = reader;
  for (const file of sections.flatMap(({ pages }) => pages))
    await check(`${file} at ${width} px`, async () => {
      const answer = await page.goto(url + sitePath(file), { waitUntil: "networkidle" });
      const faults = complaints.splice(0);
      if (answer?.status() !== 200) faults.push(`status ${answer?.status()}`);
      const headings = await page.locator("h1").count();
      if (headings !== 1) faults.push(`${headings} h1`);
      const isWider = await page.evaluate<boolean>("document.documentElement.scrollWidth > window.innerWidth");
      if (isWider) faults.push("it is wider than the screen");
      const name = file.replaceAll("/", "-").replace(/\.md$/, "");
      await page.screenshot({ path: join(screenshots, `${name}-${width}.png`), fullPage: true });
      if (faults.length > 0) throw new Error(faults.join(", "));
    });
}
