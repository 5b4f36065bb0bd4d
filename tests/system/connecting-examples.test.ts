/** The examples of docs/tenants/connecting.md, extracted from it and run where a tenant would run them. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keyFile } from "../../tools/stack/keys.ts";
import { type Door, doorOf, lookUp, clientA } from "../kit/client.ts";
import { exampleOf } from "../kit/example.ts";
import { type Block, blocksOf } from "../kit/fenced-blocks.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const run = promisify(execFile);
const alice = tenant();
const a = clientA();

const blocks = blocksOf("docs/tenants/connecting.md");
const under = (...headings: string[]): Block[] => blocks.filter(({ heading }) => headings.includes(heading));
const [whatYouNeed, whoMayReachIt] = ["What you need", "Who may reach it"];
const aboutTheApi = under(whatYouNeed, whoMayReachIt);
/** The conformance suite runs the published Terraform provider. */
const connecting = blocks.filter((block) => !aboutTheApi.includes(block) && block.language !== "hcl");

let id: number;
let door: Door;
let folder: string;
/** The variables that the document's own commands set: `DB_HOST` and the others. */
let settings: Record<string, string>;

/** In one shell, as a tenant pastes them. Returns what they printed, and the variables that they set. */
async function paste(commands: readonly Block[]) {
  const script = `${commands.map(({ code }) => code).join("")}env -0 >variables\n`;
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      MOORAGE_URL: env("MOORAGE_URL"),
      MOORAGE_TOKEN: env("MOORAGE_TOKEN"),
      ID: `${id}`,
    },
    timeout: 600_000,
  });
  const left = (await readFile(join(folder, "variables"), "utf8")).matchAll(/(DB_\w+)=([^\0]*)/g);
  return { stdout, variables: Object.fromEntries([...left].map(([, name, value]) => [name, value])) };
}

beforeAll(async () => {
  await allowDeletions(100);
  folder = await mkdtemp(join(tmpdir(), "moorage-connecting-"));
  ({ id } = await alice.createSurely(unique("connecting"), 60, { allow_list: [a.address] }));
  await alice.untilStatus(id, "active", 120);
  door = await doorOf(alice, id);
  settings = (await paste(under(whatYouNeed))).variables;
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_delete", 120);
});

test("the commands set the correct host, port, user, password and certificate authority", async () => {
  const { DB_CA = "", ...rest } = settings;
  expect(rest).toEqual({
    DB_HOST: door.name,
    DB_PORT: `${door.port}`,
    DB_USER: door.username,
    DB_PASSWORD: door.password,
  });
  expect(await readFile(DB_CA, "utf8")).toBe(await readFile(door.ca, "utf8"));
});

test("every promised way to connect has an example", () => {
  expect(connecting.map(({ heading, language }) => `${heading}: ${language}`)).toEqual([
    "Shell: sh",
    "Node.js: js",
    "Python, PyMySQL: python",
    "Python, MySQL Connector: python",
    "Go: go",
    "PHP: php",
  ]);
});

test.each(connecting)("$heading: connects by hostname; refuses another hostname or authority", async (block) => {
  await using example = await exampleOf(block);
  const version = env("MOORAGE_ENGINE").replace("mysql/", "");
  expect(await example.runAt(a, settings)).toEqual({ ended: "well", output: expect.stringContaining(version) });

  // The same server would answer under this hostname too: only the name in the certificate differs.
  const [address] = await lookUp(a, door.name, "A");
  const otherName = door.name.replace(/^db-\d+/, "db-0");
  const byOtherName = await example.runAt(a, { ...settings, DB_HOST: otherName }, `${address} ${otherName}\n`);
  expect(byOtherName).toEqual({ ended: "badly", output: expect.stringMatching(/certificate/i) });

  // The stack's authority for hosts signs no database.
  const byOtherAuthority = await example.runAt(a, { ...settings, DB_CA: keyFile.ca });
  expect(byOtherAuthority).toEqual({ ended: "badly", output: expect.stringMatching(/certificate/i) });
});

test("the commands that change the allow list change it, and end when it is in force", async () => {
  const { stdout } = await paste(aboutTheApi);
  expect(stdout).toContain('"status": "finished"');
  expect(stdout).toMatch(/Applied on every node at \d/);
  expect((await alice.view(id)).body.allow_list).toEqual(["203.0.113.7", "2001:db8:5::/48"]);
});
